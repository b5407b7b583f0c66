"""Requests of a run: payload, identity, signature, callback, masked secrets."""

from __future__ import annotations

import asyncio
import json
import sys
from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest

from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.task import Task
from horae.outgoing import client
from horae.outgoing.signatures import verify, verify_callback_token
from horae.targets.http.target import HTTP
from horae.version import __version__
from tests.unit.outgoing.servers import answering, endlessly, wire
from tests.unit.targets.http.http_setup import ALLOWED, CALLBACK, Called, Vault, an_http_task, called, tools
from tests.unit.targets.invocations import NOON, Recorded

SECRET = "whsec_" + b64encode(bytes(range(32))).decode()


def error_of(call: Called) -> Failed:
    assert isinstance(call.outcome, Failed), call.outcome
    return call.outcome


async def test_request_identifies_the_run() -> None:
    call = await called(answering(), payload={"名": "值"})
    assert call.server.heard[0].startswith("POST /hook?x=1 HTTP/1.1\r\n")
    assert call.sent == {"名": "值"}
    assert call.headers | {"host": ""} == {
        "host": "",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "connection": "close",
        "content-length": "13",
        "content-type": "application/json",
        "user-agent": f"Horae/{__version__}",
        "idempotency-key": "occ_1",
        "traceparent": call.invocation.trace,
        "horae-task": "tsk_1",
        "horae-run": "run_1",
        "horae-attempt": "2",
        "horae-planned": "2026-03-01T12:00:00+00:00",
    }


async def test_the_answer_is_a_sign_of_life() -> None:
    assert (await called(answering())).invocation.beats == 1


@pytest.mark.parametrize(
    ("spec", "payload", "body"),
    [
        ({}, [1], b"[1]"),
        ({"method": "PUT"}, [1], b"[1]"),
        ({"method": "PATCH"}, [1], b"[1]"),
        ({"method": "GET"}, [1], b""),
        ({"method": "DELETE"}, [1], b""),
        ({"method": "HEAD"}, [1], b""),
        ({"method": "DELETE", "body": {"a": 1}}, [1], b'{"a":1}'),
        ({"body": {"a": 1}}, [1], b'{"a":1}'),
        ({"body": None}, [1], b""),
        ({"body": "{{7*7}}"}, [1], b'"{{7*7}}"'),
        ({}, None, b""),
        ({}, "\ud800", b'"\\ud800"'),
    ],
)
async def test_body_is_the_payload_unless_the_spec_overrides_it(
    spec: dict[str, Any], payload: Any, body: bytes
) -> None:
    call = await called(answering(), spec, payload)
    assert call.server.bodies == [body]
    assert ("content-type" in call.headers) == bool(body)


async def test_content_type_and_user_agent_can_be_set() -> None:
    call = await called(answering(), {"headers": {"content-type": "application/x", "User-Agent": "mine"}}, {})
    assert (call.headers["content-type"], call.headers["user-agent"]) == ("application/x", "mine")
    assert call.server.heard[0].lower().count("content-type") == 1


async def test_secrets_are_filled_into_headers_and_body() -> None:
    spec = {"headers": {"X-Key": {"secret": "key"}, "Authorization": ["Bearer ", {"secret": "bearer"}]}}
    call = await called(answering(), spec, {"deep": [{"secret": "key"}]}, Vault(key="first key", bearer="second"))
    assert call.headers["x-key"] == "first key"
    assert call.headers["authorization"] == "Bearer second"
    assert call.sent == {"deep": ["first key"]}


async def test_a_missing_secret_is_named_and_nothing_is_sent() -> None:
    call = await called(answering(), {"headers": {"X-Key": {"secret": "key"}}})
    assert error_of(call).permanent
    assert "'key'" in error_of(call).error
    assert call.server.connections == 0


@pytest.mark.parametrize("value", ["hunter2\r\nX-Forged: yes", "hunter2\n", "hunter2\0"])
async def test_a_secret_cannot_break_out_of_its_header(value: str) -> None:
    call = await called(answering(), {"headers": {"X-Key": {"secret": "key"}}}, vault=Vault(key=value))
    assert error_of(call).permanent
    assert "hunter2" not in error_of(call).error
    assert call.server.connections == 0


async def test_echoed_secrets_are_masked() -> None:
    vault = Vault(key='hun"ter2', pin="493817")
    spec = {"headers": {"X-Key": {"secret": "key"}}, "body": {"pin": {"secret": "pin"}}}
    said = json.dumps({"echo": 'x hun"ter2 y', 'hun"ter2': ["493817", 493817, {"a": 1.5}]}).encode()
    call = await called(answering(body=said), spec, vault=vault)
    assert isinstance(call.outcome, Succeeded)
    assert json.loads(call.outcome.result or "") == {
        "status": 200,
        "body": {"echo": "x ••• y", "•••": ["•••", "•••", {"a": 1.5}]},
    }
    for body in (said, b'plain hun"ter2'):
        failed = error_of(await called(answering(500, body), spec, vault=vault))
        assert "ter2" not in failed.error
        assert "•••" in failed.error


async def test_a_signed_request_verifies() -> None:
    call = await called(answering(), {"sign": {"secret": "s"}}, {"a": 1}, Vault(s=SECRET))
    assert call.headers["webhook-id"] == "occ_1"
    assert verify([SECRET], call.headers, call.server.bodies[0], NOON)
    empty = await called(answering(), {"sign": {"secret": "s"}, "method": "GET"}, {"a": 1}, Vault(s=SECRET))
    assert verify([SECRET], empty.headers, b"", NOON)


async def test_a_secret_that_cannot_sign_fails_without_being_shown() -> None:
    call = await called(answering(), {"sign": {"secret": "s"}}, vault=Vault(s="hunter2"))
    assert error_of(call).permanent
    assert "hunter2" not in error_of(call).error
    assert call.server.connections == 0


async def test_a_callback_is_offered_where_one_is_configured() -> None:
    echo = answering(body=b"{}")
    assert "horae-callback" not in (await called(echo)).headers
    headers = (await called(echo, settings=ALLOWED | CALLBACK)).headers
    assert headers["horae-callback"] == "https://horae.example/base/v1/runs/run_1/callback"
    assert verify_callback_token("k" * 32, "run_1", 7, headers["horae-callback-token"])
    token = headers["horae-callback-token"]
    repeated = (await called(answering(body=token.encode()), settings=ALLOWED | CALLBACK)).outcome
    assert isinstance(repeated, Succeeded)
    assert token not in (repeated.result or "")


async def test_a_body_that_secrets_make_too_large_is_not_sent() -> None:
    spec = {"body": [{"secret": "s"}] * 20}
    call = await called(answering(), spec, vault=Vault(s="x" * 100_000))
    assert error_of(call).permanent
    assert call.server.connections == 0


async def test_orchestrator_request_follows_its_rules() -> None:
    payload = {
        "input": "提醒我打卡",
        "context": {"channel": "scheduled_task", "user_id": "forged", "scheduled_task_id": "forged"},
        "agent": "root",
        "forced_agent": "root",
        "items": [1],
    }
    call = await called(answering(body=b'{"ok": true}'), {"preset": "orchestrator"}, payload)
    assert call.sent == {
        "text": "提醒我打卡",
        "context": {"channel": "scheduled_task", "user_id": "local", "scheduled_task_id": "tsk_1"},
        "default_agent": "attendance",
        "mode": "hybrid",
    }
    assert call.headers["x-trace-id"] == "0af7651916cd43dd8448eb211c80319c"
    assert isinstance(call.outcome, Succeeded)


async def test_the_orchestrators_defaults_are_the_operators_and_a_payload_may_choose() -> None:
    settings = {**ALLOWED, "default_agent": "general", "mode": "rules"}
    for payload, agent, mode in (
        ({"text": "x", "input": "y"}, "general", "rules"),
        ({"text": "x", "default_agent": "writer", "mode": "model"}, "writer", "model"),
        ({"text": "x", "default_agent": 1, "mode": ""}, "general", "rules"),
    ):
        sent = (await called(answering(body=b'{"ok":1}'), {"preset": "orchestrator"}, payload, settings=settings)).sent
        assert sent["text"] == "x"
        assert (sent["default_agent"], sent["mode"]) == (agent, mode)


async def test_a_task_that_was_made_under_other_rules_is_checked_again() -> None:
    async with wire(answering()) as server:
        target = HTTP.open(tools({}))
        outcome = await target.execute(Recorded(an_http_task({"url": server.url().text})))
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert server.connections == 0


@pytest.mark.parametrize("junk", ["{not json", "[" * 100_000, "[" * 700 + "]" * 700])
async def test_a_payload_that_cannot_be_read_or_looked_through_is_a_failure(junk: str) -> None:
    # The port is closed: a Python that can nest 700 levels fails to connect.
    task = an_http_task({"url": "http://127.0.0.1:1/"})._replace(payload=junk)
    outcome = await carried_once(task)
    assert isinstance(outcome, Failed)
    assert outcome.permanent or len(junk) == 1400


async def carried_once(task: Task) -> Outcome:
    target = HTTP.open(tools(ALLOWED))
    try:
        return await target.execute(Recorded(task))
    finally:
        await target.aclose()  # type: ignore[attr-defined]


async def test_a_cancelled_run_closes_its_connection() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with wire(endlessly(head, b"1000\r\n" + bytes(4096) + b"\r\n")) as server:
        spec = HTTP.check({"url": server.url().text, "answer_limit": 16 * 1024 * 1024}, None, ALLOWED)
        target = HTTP.open(tools(ALLOWED))
        running = asyncio.create_task(target.execute(Recorded(an_http_task(spec, timeout=timedelta(hours=1)))))
        await server.arrived.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await server.gone.wait()
        await target.aclose()  # type: ignore[attr-defined]


async def test_a_node_without_the_library_leaves_the_run_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    client._is_installed.cache_clear()
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    outcome = await HTTP.open(tools({})).execute(Recorded(an_http_task({"url": "https://a.example"})))
    client._is_installed.cache_clear()
    assert isinstance(outcome, Failed)
    assert (outcome.permanent, outcome.reason) == (False, Reason.TARGET_UNKNOWN)
    assert "horae[http]" in outcome.error
