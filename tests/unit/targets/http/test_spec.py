"""Specs of http targets: strict, complete, canonical."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.targets.http.target import HTTP

URL = "https://api.example.com/jobs"


def code_of(spec: dict[str, Any], payload: Any = None, settings: dict[str, Any] | None = None) -> str:
    with pytest.raises(Refusal) as refused:
        HTTP.check(spec, payload, settings or {})
    for language in ("en", "zh"):
        sentence = refused.value.in_language(language)
        assert sentence.message
        assert sentence.hint
        assert "hunter2" not in f"{sentence.message}{sentence.hint}"
    return refused.value.code


def test_defaults_are_completed_and_checking_again_changes_nothing() -> None:
    canonical = HTTP.check({"url": "HTTPS://API.example.com:443/jobs#x"}, None, {})
    assert canonical == {
        "method": "POST",
        "url": URL,
        "headers": {},
        "success": ["2xx"],
        "redirects": 0,
        "sign": None,
        "preset": None,
        "answer_limit": 1024 * 1024,
    }
    assert HTTP.check(canonical, None, {}) == canonical
    assert HTTP.kind == "http"


def test_complete_http_spec() -> None:
    spec: dict[str, Any] = {
        "method": "put",
        "url": URL,
        "headers": {"X-Key": {"secret": "key"}, "Authorization": ["Bearer ", {"secret": "token"}], "X": "值"},
        "body": {"nested": [{"secret": "deep"}]},
        "success": [200, "3XX", "404-410"],
        "redirects": 5,
        "sign": {"secret": "signing"},
        "preset": None,
        "answer_limit": 10,
    }
    canonical = HTTP.check(spec, None, {})
    assert canonical == spec | {"method": "PUT", "success": [200, "3xx", "404-410"]}
    assert HTTP.check(canonical, None, {}) == canonical
    assert HTTP.check({"url": URL, "body": None}, None, {})["body"] is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"surprise": 1}, "http_unknown_key"),
        ({"url": None}, "http_url_missing"),
        ({"url": {"secret": "x"}}, "http_url_missing"),
        ({"url": "http://169.254.169.254/"}, "address_not_public"),
        ({"url": "http://[::ffff:127.0.0.1]/"}, "address_not_public"),
        ({"url": "http://2130706433/"}, "address_not_public"),
        ({"url": "file:///etc/passwd"}, "url_scheme"),
        ({"url": "https://user:hunter2@example.com/"}, "url_userinfo"),
        ({"method": "CONNECT"}, "http_bad_value"),
        ({"method": "TRACE"}, "http_bad_value"),
        ({"method": "GET\r\nX: y"}, "http_bad_value"),
        ({"method": 1}, "http_bad_value"),
        ({"headers": ["X"]}, "http_bad_value"),
        ({"headers": {"X": 1}}, "http_bad_value"),
        ({"headers": {"X": {"secret": 1}}}, "http_bad_value"),
        ({"headers": {"X": {"secret": "a", "or": "hunter2"}}}, "http_bad_value"),
        ({"headers": {"X": ["a"] * 9}}, "http_bad_value"),
        ({"headers": {"X": "hunter2\r\nY: z"}}, "header_value"),
        ({"headers": {"X": ["hunter2\n", {"secret": "a"}]}}, "header_value"),
        ({"headers": {"X\r\nY": "z"}}, "header_name"),
        ({"headers": {"Host": "inner"}}, "header_reserved"),
        ({"headers": {"Content-Length": "0"}}, "header_reserved"),
        ({"headers": {"idempotency-key": "mine"}}, "header_reserved"),
        ({"headers": {"Horae-Run": "another"}}, "header_reserved"),
        ({"headers": {"webhook-signature": "forged"}}, "header_reserved"),
        ({"headers": {"traceparent": "forged"}}, "header_reserved"),
        ({"headers": {f"X-{number}": "x" for number in range(65)}}, "http_bad_value"),
        ({"success": []}, "http_bad_value"),
        ({"success": "2xx"}, "http_bad_value"),
        ({"success": [99]}, "http_bad_value"),
        ({"success": [600]}, "http_bad_value"),
        ({"success": [True]}, "http_bad_value"),
        ({"success": ["6xx"]}, "http_bad_value"),
        ({"success": ["300-200"]}, "http_bad_value"),
        ({"success": [200] * 33}, "http_bad_value"),
        ({"redirects": 6}, "http_bad_value"),
        ({"redirects": -1}, "http_bad_value"),
        ({"redirects": True}, "http_bad_value"),
        ({"redirects": 1.0}, "http_bad_value"),
        ({"answer_limit": 0}, "http_bad_value"),
        ({"answer_limit": 1 << 40}, "http_bad_value"),
        ({"sign": "whsec_hunter2"}, "http_bad_value"),
        ({"sign": {}}, "http_bad_value"),
        ({"preset": "another"}, "http_bad_value"),
        ({"preset": ["orchestrator"]}, "http_bad_value"),
        ({"body": "x" * 300_000}, "payload_too_large"),
        ({"body": float("nan")}, "bad_payload"),
    ],
)
def test_spec_that_cannot_work_is_refused(change: dict[str, Any], code: str) -> None:
    assert code_of({"url": URL} | change) == code


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"surprise": 1}, "http_unknown_setting"),
        ({"allow_networks": 1}, "http_bad_setting"),
        ({"allow_networks": ["10.0.0.1/8"]}, "bad_network"),
        ({"connect_timeout": 0}, "http_bad_setting"),
        ({"connect_timeout": "soon"}, "http_bad_setting"),
        ({"connect_timeout": float("nan")}, "http_bad_setting"),
        ({"connect_timeout": True}, "http_bad_setting"),
        ({"callback_url": "ftp://horae.example"}, "url_scheme"),
        ({"callback_url": "https://horae.example", "callback_key": "hunter2"}, "http_bad_setting"),
        ({"callback_url": "ftp://horae.example", "callback_key": "k" * 32}, "url_scheme"),
        ({"callback_url": "https://horae.example/?x", "callback_key": "k" * 32}, "http_bad_setting"),
        ({"default_agent": ""}, "http_bad_setting"),
        ({"mode": 1}, "http_bad_setting"),
        ({"user_agent": "a\r\nb"}, "header_value"),
    ],
)
def test_settings_are_checked_too(settings: dict[str, Any], code: str) -> None:
    assert code_of({"url": URL}, None, settings) == code


def test_networks_may_come_as_one_text() -> None:
    settings = {"allow_networks": "10.0.0.0/8, 127.0.0.0/8", "connect_timeout": "2.5", "mode": None}
    assert HTTP.check({"url": "http://127.1/"}, None, settings)["url"] == "http://127.0.0.1/"


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (None, "orchestrator_text"),
        ("text", "orchestrator_text"),
        ({}, "orchestrator_text"),
        ({"text": "  "}, "orchestrator_text"),
        ({"text": 1, "input": None}, "orchestrator_text"),
        ({"text": "x", "context": []}, "orchestrator_context"),
    ],
)
def test_an_orchestrator_needs_a_text(payload: Any, code: str) -> None:
    assert code_of({"url": URL, "preset": "orchestrator"}, payload) == code


@pytest.mark.parametrize("change", [{"body": {}}, {"method": "GET"}])
def test_an_orchestrator_call_is_made_by_the_preset(change: dict[str, Any]) -> None:
    assert code_of({"url": URL, "preset": "orchestrator"} | change, {"text": "x"}) == "orchestrator_request"
