"""`/plans/notify`: results and changes of plans over a real WebSocket; rights, origins, limits, resumption and closing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

from horae.api.compat import plan_notifications
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL
from horae.model.outcome import Outcome, Settlement, Succeeded
from horae.model.run import Run
from horae.ports.store import Node
from horae.web.request_context import WebSettings
from horae.web.websocket import CREDENTIAL_PREFIX
from tests.api.api_server import Api, serve_api
from tests.unit.service.service_harness import allow_stations

PATIENCE: Final = 20.0
PROTOCOL: Final = "horae.plans"
FORM: Final[dict[str, Any]] = {
    "plan_type": "minute",
    "plan_value": 5,
    "plan_repet": 3,
    "station": "garden",
    "command": "water",
    "argument": '{"bed": 1}',
}


async def add(api: Api, plan_id: int, who: str = "ada", **fields: Any) -> str:
    await allow_stations(api.service, who, "garden")
    answer = await api.post("/plans/Add", {**FORM, "plan_id": plan_id, **fields}, who=who)
    assert answer.status == 200, answer.text
    name: str = answer.json["data"]["name"]
    return name


async def claim(api: Api) -> Run:
    """Claim the one run that is due now, as a node does."""
    store, now = api.service.store, api.app.context.clock.now()
    if not await store.nodes():
        await store.join(Node("nod_1", "here/1", "1", now, now))
    claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
    claimed = await store.claim_due(now, "nod_1", 100, lambda facts, entry, token: fire(facts, entry, token, claimant))
    (due,) = claimed.runs
    return due.run


async def settle_run(api: Api, run: Run, outcome: Outcome) -> None:
    report = Settlement(run.id, run.token, outcome, run.started, api.app.context.clock.now())
    assert not await api.service.store.settle([report], settle)


def address(api: Api, query: str = "") -> str:
    return api.base.replace("http", "ws", 1) + "/plans/notify" + query


async def close_code(socket: ClientWebSocketResponse) -> int:
    """Return the code with which the server closes the connection, after its last messages."""
    while (message := await socket.receive(timeout=PATIENCE)).type is WSMsgType.TEXT:
        pass
    assert message.type is WSMsgType.CLOSE
    code: int = message.data
    return code


@asynccontextmanager
async def connect(
    api: Api, who: str = "ada", query: str = "", headers: dict[str, str] | None = None
) -> AsyncIterator[ClientWebSocketResponse]:
    sent = {"Authorization": f"Bearer {api.tokens[who]}", **(headers or {})}
    async with api.session.ws_connect(address(api, query), headers=sent) as socket:
        yield socket


async def receive(socket: ClientWebSocketResponse) -> Any:
    return await socket.receive_json(timeout=PATIENCE)


async def refused(api: Api, query: str = "", **options: Any) -> tuple[int, str]:
    """Return the status and the code with which a handshake is refused, as an HTTP answer."""
    with pytest.raises(WSServerHandshakeError) as failed:
        async with api.session.ws_connect(address(api, query), **options):
            pass
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        **options.get("headers", {}),
    }
    reply = await api.get("/plans/notify" + query, who=None, headers=headers)
    assert reply.status == failed.value.status
    assert reply.json["success"] is False
    return reply.status, reply.code


async def test_changes_and_removal_of_a_plan_are_pushed_with_its_state() -> None:
    async with serve_api() as api, connect(api) as socket:
        assert (await receive(socket))["event"] == "ready"
        name = await add(api, 255)
        messages = [await receive(socket)]
        for action in ("Pause", "Reset", "Close", "Remove"):
            assert (await api.get(f"/plans/{action}/ff")).status == 200
            messages.append(await receive(socket))
        assert [(each["event"], each["kind"]) for each in messages] == [
            ("add", "task.created"),
            ("update", "task.paused"),
            ("update", "task.resumed"),
            ("update", "task.cancelled"),
            ("remove", "task.deleted"),
        ]
        assert {each["name"] for each in messages} == {name}
        assert {each["owner"] for each in messages} == {"ada"}
        added, *_, removed = messages
        assert (added["plan"]["plan_id"], added["plan"]["station"], added["result"]) == (255, "garden", None)
        assert removed["plan"] is None
        assert [each["number"] for each in messages] == sorted(each["number"] for each in messages)


async def test_result_of_an_execution_is_pushed_with_its_content() -> None:
    async with serve_api() as api, connect(api) as socket:
        assert (await receive(socket))["event"] == "ready"
        name = await add(api, 255, plan_type="none", plan_value=0)
        assert (await receive(socket))["event"] == "add"
        run = await claim(api)
        assert (await receive(socket))["kind"] == "run.started"
        await settle_run(api, run, Succeeded('"wet"'))
        assert (await receive(socket))["kind"] == "task.completed"
        result = await receive(socket)
        assert (result["event"], result["name"]) == ("result", name)
        assert (result["result"]["exec_state"], result["result"]["values"]) == (1, ["wet"])
        assert result["plan"]["state"] == "closed"


async def test_only_plans_of_the_owner_are_pushed() -> None:
    async with serve_api() as api, connect(api) as socket, connect(api, "admin") as everything:
        assert (await receive(socket))["event"] == "ready"
        assert (await receive(everything))["event"] == "ready"
        await api.create_task()
        foreign = await add(api, 1, "bob")
        own = await add(api, 2)
        assert (await receive(socket))["name"] == own
        assert [(await receive(everything))["name"] for _ in range(2)] == [foreign, own]


async def test_client_resumes_after_the_number_of_its_last_message() -> None:
    async with serve_api() as api:
        async with connect(api) as socket:
            ready = await receive(socket)
            await add(api, 1)
            first = await receive(socket)
        assert first["number"] > ready["number"]
        second = await add(api, 2)
        async with connect(api, query=f"?after={first['number']}") as socket:
            assert await receive(socket) == {"event": "ready", "number": first["number"]}
            assert (await receive(socket))["name"] == second
        async with connect(api, query="?after=999999") as socket:
            ready, gap = await receive(socket), await receive(socket)
            assert gap == {"event": "gap", "after": 999_999, "number": ready["number"]}


async def test_token_is_a_header_or_a_subprotocol_and_never_in_the_address(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with serve_api() as api:
        token = api.tokens["ada"]
        protocols = (PROTOCOL, CREDENTIAL_PREFIX + token)
        async with api.session.ws_connect(address(api), protocols=protocols) as socket:
            assert socket.protocol == PROTOCOL
            assert (await receive(socket))["event"] == "ready"
        assert await refused(api) == (401, "no_token")
        assert (await refused(api, f"?token={token}"))[0] == 401
        assert await refused(api, headers={"Authorization": "Bearer horae_wrong"}) == (401, "bad_token")
        assert await refused(api, headers={"Authorization": f"Bearer {api.tokens['robot']}"}) == (403, "not_for_agents")
        assert (await refused(api, "?x=1", headers={"Authorization": f"Bearer {token}"}))[0] == 400
        assert token not in caplog.text
        # Two tokens: a proxy may have checked the other one.
        with pytest.raises(WSServerHandshakeError):
            await api.session.ws_connect(
                address(api), protocols=protocols, headers={"Authorization": f"Bearer {api.tokens['bob']}"}
            )


async def test_pages_of_other_origins_are_refused() -> None:
    async with serve_api(settings=WebSettings(expects_engine=False, origins=("https://ops.example",))) as api:
        token = {"Authorization": f"Bearer {api.tokens['ada']}"}
        for origin in ("https://evil.example", "null", "https://ops.example.evil", "http://ops.example"):
            assert await refused(api, headers={**token, "Origin": origin}) == (403, "websocket_origin"), origin
        for origin in ("https://ops.example", api.base):
            async with connect(api, headers={"Origin": origin}) as socket:
                assert (await receive(socket))["event"] == "ready"


async def test_ordinary_request_is_refused_and_other_paths_ignore_an_upgrade() -> None:
    async with serve_api() as api:
        reply = await api.get("/plans/notify")
        assert (reply.status, reply.code) == (426, "websocket_required")
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
        assert (await api.get("/plans/Active", headers=upgrade)).status == 200


async def test_connections_count_as_event_streams() -> None:
    async with serve_api(settings=WebSettings(expects_engine=False, max_streams=2)) as api, connect(api) as socket:
        assert (await receive(socket))["event"] == "ready"
        token = {"Authorization": f"Bearer {api.tokens['ada']}"}
        assert await refused(api, headers=token) == (429, "too_many_streams")
        assert api.app.context.tail.listening == 1
    assert api.app.context.tail.listening == 0


async def test_revoked_token_ends_the_connection() -> None:
    async with serve_api() as api:
        token, text = await api.service.tokens.make(LOCAL, owner="ada", name="short")
        headers = {"Authorization": f"Bearer {text}"}
        async with api.session.ws_connect(address(api), headers=headers) as socket:
            assert (await receive(socket))["event"] == "ready"
            await api.service.tokens.revoke(LOCAL, token.id)
            assert await close_code(socket) == 1008


async def test_client_that_sends_a_message_is_disconnected() -> None:
    async with serve_api() as api:
        for message, code in (("x", 1003), ("x" * 5_000, 1009)):
            async with connect(api) as socket:
                assert (await receive(socket))["event"] == "ready"
                await socket.send_str(message)
                assert await close_code(socket) == code


async def test_server_that_stops_ends_the_connection() -> None:
    async with aiohttp.ClientSession() as session:
        async with serve_api() as api:
            headers = {"Authorization": f"Bearer {api.tokens['ada']}"}
            socket = await session.ws_connect(address(api), headers=headers)
            assert (await receive(socket))["event"] == "ready"
        assert await close_code(socket) == 1012


async def test_slow_client_is_disconnected_and_its_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue of a client that reads nothing has a limit; beyond it the log is read, and later the connection ends."""
    monkeypatch.setattr("horae.service.events.event_tail.MAX_QUEUED_BYTES", 1)
    monkeypatch.setattr("horae.service.events.event_tail.MAX_EVENTS_BEHIND", 3)
    held = asyncio.Event()
    send_batch = plan_notifications.PlanNotifications._send_batch

    async def wait(self: Any, stream: Any, events: Any) -> None:
        await held.wait()
        await send_batch(self, stream, events)

    monkeypatch.setattr(plan_notifications.PlanNotifications, "_send_batch", wait)
    async with serve_api() as api, connect(api) as socket:
        assert (await receive(socket))["event"] == "ready"
        tail = api.app.context.tail.tail
        for number in range(1, 9):
            await add(api, number)
            # Each event is a batch of its own.
            async with asyncio.timeout(PATIENCE):
                while tail.position < await api.service.store.last_event():
                    await api.app.context.clock.pause(0.01)
        held.set()
        assert await close_code(socket) == 1013
