"""Outcome of a run by the response of the endpoint."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from horae.model.limits import ERROR_CHARACTERS, RESULT_BYTES
from horae.model.outcome import Failed, Succeeded, TimedOut, Waiting
from horae.model.policy import MAX_BACKOFF
from horae.model.reason import Reason
from horae.targets.http.response_outcome import parse_retry_after
from tests.unit.outgoing.servers import answering, saying, silence
from tests.unit.targets.http.http_setup import ALLOWED, CALLBACK, HttpCall, call_http
from tests.unit.targets.invocations import NOON

JSON = (("Content-Type", "application/json"),)


def failed(call: HttpCall) -> Failed:
    assert isinstance(call.outcome, Failed), call.outcome
    return call.outcome


def result(call: HttpCall) -> Any:
    assert isinstance(call.outcome, Succeeded), call.outcome
    assert len((call.outcome.result or "").encode()) <= RESULT_BYTES
    return json.loads(call.outcome.result or "")


@pytest.mark.parametrize(
    ("body", "headers", "stored"),
    [
        (b'{"a": [1, null]}', JSON, {"a": [1, None]}),
        (b'"text"', JSON, "text"),
        (b"12", (("Content-Type", "application/problem+json"),), 12),
        (b' {"a": 1}', (("Content-Type", "text/html"),), {"a": 1}),
        (b"12", (("Content-Type", "text/plain"),), "12"),
        (b"", JSON, None),
        (b"{broken", JSON, "{broken"),
        (b"NaN", JSON, "NaN"),
        (b'{"a": Infinity}', JSON, '{"a": Infinity}'),
        (b"[" * 100_000, JSON, None),
        (b"1" * 5_000, JSON, "1" * 5_000),
        ("值".encode("gbk"), (("Content-Type", "text/plain; charset=GBK"),), "值"),
        (b"\xff\xfea", (), "��a"),
        (b"a\0b", (("Content-Type", "text/plain; charset=punycode"),), "a�b"),
        (b"<img onerror=x>", (("Content-Type", "text/html"),), "<img onerror=x>"),
    ],
)
async def test_the_result_is_the_status_and_the_body(
    body: bytes, headers: tuple[tuple[str, str], ...], stored: Any
) -> None:
    found = result(await call_http(answering(200, body, headers)))
    assert found["status"] == 200
    if body.startswith(b"[["):  # nested too deep: stored as the beginning of the text
        assert found["truncated"]
        assert found["body"].startswith("[[[")
    else:
        assert found == {"status": 200, "body": stored}


@pytest.mark.parametrize(
    "body", [b'"' + b"x" * 200_000 + b'"', '"值'.encode() * 50_000, b"\x01" * 100_000, b"[1," * 90_000]
)
async def test_large_response_is_truncated_with_a_mark(body: bytes) -> None:
    found = result(await call_http(answering(200, body, (("Content-Type", "text/plain"),))))
    assert found["truncated"]
    assert len(found["body"]) > 1000


async def test_an_answer_beyond_the_limit_is_cut() -> None:
    found = result(await call_http(answering(200, b'{"a": 1234567890}', JSON), {"answer_limit": 8}))
    assert found == {"status": 200, "body": '{"a": 12', "truncated": True}


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_transient_status_is_retried(status: int) -> None:
    outcome = failed(await call_http(answering(status, b"busy  \n now")))
    assert not outcome.permanent
    assert outcome.retry_after is None
    assert outcome.reason is Reason.TARGET_FAILED
    assert str(status) in outcome.error
    assert outcome.error.endswith(": busy now")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 451])
async def test_permanent_status_is_not_retried(status: int) -> None:
    outcome = failed(await call_http(answering(status, b"", (("Retry-After", "5"),))))
    assert outcome.permanent
    assert outcome.retry_after is None


async def test_a_long_refusal_is_shortened() -> None:
    assert len(failed(await call_http(answering(500, b"x" * 100_000))).error) < ERROR_CHARACTERS


@pytest.mark.parametrize("status", [429, 503, 500])
async def test_retry_after_header(status: int) -> None:
    outcome = failed(await call_http(answering(status, headers=(("Retry-After", "120"),))))
    assert outcome.retry_after == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("120", timedelta(seconds=120)),
        (" 7 ", timedelta(seconds=7)),
        ("0", timedelta(seconds=1)),
        ("9" * 500, MAX_BACKOFF),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        (format_datetime(NOON + timedelta(minutes=3), usegmt=True), timedelta(minutes=3)),
        (format_datetime(NOON - timedelta(days=3), usegmt=True), timedelta(seconds=1)),
        ("Sunday, 01-Mar-26 12:01:00 GMT", timedelta(minutes=1)),
        ("Sun Mar  1 12:01:00 2026", timedelta(minutes=1)),
        (format_datetime(datetime(9999, 12, 31, tzinfo=UTC)), MAX_BACKOFF),
        ("Sun, 01 Mar 99999 12:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, wait: timedelta | None) -> None:
    assert parse_retry_after(header, NOON) == wait


async def test_a_redirect_that_is_not_followed_names_its_host_alone() -> None:
    location = "https://b.example/path?token=hunter2"
    outcome = failed(await call_http(answering(302, b"hunter2", (("Location", location),))))
    assert outcome.permanent
    assert "b.example" in outcome.error
    assert "hunter2" not in outcome.error
    for odd in ("https://user:hunter2@b.example/", "http://[", ""):
        error = failed(await call_http(answering(302, headers=(("Location", odd),)))).error
        assert "hunter2" not in error


async def test_redirect_to_a_private_address_is_a_permanent_failure() -> None:
    outcome = failed(
        await call_http(answering(302, headers=(("Location", "http://169.254.169.254/"),)), {"redirects": 3})
    )
    assert outcome.permanent
    assert "not public" in outcome.error


async def test_success_statuses_are_configurable() -> None:
    assert result(await call_http(answering(404), {"success": [200, 404]}))["status"] == 404
    assert result(await call_http(answering(302), {"success": ["2xx", "300-302"]}))["status"] == 302
    assert failed(await call_http(answering(201), {"success": [200]})).permanent


async def test_missing_or_broken_response_is_no_answer() -> None:
    broken = failed(await call_http(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")))
    assert (broken.permanent, broken.reason) == (False, Reason.NO_ANSWER)
    assert isinstance((await call_http(silence, task_timeout=timedelta(seconds=0.2))).outcome, TimedOut)


async def test_202_without_callback_is_a_success() -> None:
    assert result(await call_http(answering(202)))["status"] == 202


@pytest.mark.parametrize(
    ("header", "wait"), [((), 300), ((("Retry-After", "10"),), 300), ((("Retry-After", "3600"),), 3600)]
)
async def test_202_with_callback_waits(header: tuple[tuple[str, str], ...], wait: int) -> None:
    call = await call_http(answering(202, headers=header), settings=ALLOWED | CALLBACK)
    assert call.outcome == Waiting(NOON + timedelta(seconds=wait))
    assert isinstance((await call_http(answering(200), settings=ALLOWED | CALLBACK)).outcome, Succeeded)


@pytest.mark.parametrize("body", [b"", b"{}", b"null", b"[]", b"[1]", b"nonsense", b'{"a":', b'"text"'])
async def test_empty_orchestrator_answer_is_a_failure(body: bytes) -> None:
    outcome = failed(await call_http(answering(200, body, JSON), {"preset": "orchestrator"}, {"text": "x"}))
    assert (outcome.permanent, outcome.reason) == (False, Reason.NO_ANSWER)


@pytest.mark.parametrize(("status", "permanent"), [(400, True), (500, False), (429, False)])
async def test_an_orchestrator_that_refuses_has_given_no_answer(status: int, *, permanent: bool) -> None:
    outcome = failed(await call_http(answering(status, b'{"a":1}', JSON), {"preset": "orchestrator"}, {"text": "x"}))
    assert (outcome.permanent, outcome.reason) == (permanent, Reason.NO_ANSWER)


async def test_an_orchestrators_answer_is_the_result() -> None:
    call = await call_http(answering(200, '{"reply": "好"}'.encode()), {"preset": "orchestrator"}, {"text": "x"})
    assert result(call) == {"status": 200, "body": {"reply": "好"}}
