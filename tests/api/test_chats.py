"""Chats and deliveries over HTTP: messages of the web channel, transcript, stream of events, retry and discard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from horae.model.accounts.principal import LOCAL, Role
from horae.model.agents.delivery import Delivery, add_delivery, as_sent
from horae.ports.chat_messages import assistant_message
from horae.service.chats.delivery_records import DeliveryIds, DeliveryRecords
from tests.api.api_server import Api, serve_api

CHAT = "/v1/chats/web:family"


@asynccontextmanager
async def serve_chat() -> AsyncIterator[Api]:
    """The API with the group `family`, and a token of it as `family`."""
    async with serve_api() as api:
        await api.service.groups.add(LOCAL, "family", "web:family", name="Family")
        await api.service.accounts.put(LOCAL, "group:family", role=Role.MEMBER)
        _, api.tokens["family"] = await api.service.tokens.make(LOCAL, owner="group:family", name="x")
        yield api


async def answer(api: Api, text: str) -> Delivery:
    now = api.app.context.clock.now()
    message = assistant_message("chat:web:family", text, "Andy", f"{text}/0", now)
    delivery = Delivery(DeliveryIds().next(now), "group:family", "web:family", text, now, "run_" + "1" * 32)
    delivery = delivery._replace(message_id=message.source_id)
    await api.service.store.append_messages("group:family", [message], attached_records=[add_delivery(delivery)])
    return delivery


async def test_messages_are_written_once_and_read() -> None:
    async with serve_chat() as api:
        body = {"text": "@Andy hello", "id": "m-1", "sender_name": "Ann"}
        first = await api.post(f"{CHAT}/messages", body, who="family")
        assert (first.status, first.json) == (201, {"chat": "web:family", "number": 1})
        assert (await api.post(f"{CHAT}/messages", body, who="family")).json["number"] == 1
        assert (await api.post(f"{CHAT}/messages", {"text": "x"}, who="admin")).json["number"] == 2
        delivery = await answer(api, "Good morning")
        transcript = (await api.get(CHAT, who="family")).json
        assert [each["text"] for each in transcript["messages"]] == ["@Andy hello", "x", "Good morning"]
        assert transcript["messages"][0]["sender_name"] == "Ann"
        assert transcript["messages"][2]["delivery"] == {"id": delivery.id, "state": "pending"}
        assert transcript["messages"][2]["run_id"] == delivery.origin
        assert not transcript["is_working"]
        page = (await api.get(f"{CHAT}?after=1&limit=1", who="family")).json
        assert ([each["number"] for each in page["messages"]], page["next_after"]) == ([2], 2)
        (listed,) = (await api.get("/v1/chats", who="family")).json["items"]
        assert (listed["chat"], listed["pending"], listed["last"]["text"]) == ("web:family", 1, "Good morning")
        assert (await api.get("/v1/chats")).json["items"] == []


async def test_refusals_point_to_the_field() -> None:
    async with serve_chat() as api:
        for body, status in (
            ({}, 422),
            ({"text": ""}, 422),
            ({"text": "  "}, 422),
            ({"text": 5}, 422),
            ({"text": "x", "more": 1}, 422),
        ):
            assert (await api.post(f"{CHAT}/messages", body, who="family")).status == status, body
        assert (await api.post(f"{CHAT}/messages", {"text": "x"})).code == "no_such_chat"
        assert (await api.get("/v1/chats/web:other", who="family")).code == "no_such_chat"
        assert (await api.get(f"{CHAT}/events", who="family", headers={"Last-Event-ID": "x"})).code == "bad_number"
        await api.service.groups.add(LOCAL, "work", "telegram:-1")
        refused = await api.post("/v1/chats/telegram:-1/messages", {"text": "x"}, who="admin")
        assert (refused.status, refused.code) == (409, "chat_read_only")
        dry = await api.post(f"{CHAT}/messages?dry_run=true", {"text": "x"}, who="family")
        assert dry.status == 201
        assert (await api.get(CHAT, who="family")).json["last"] == 0


class EventReader:
    """Reads server-sent events one by one."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self, name: str) -> dict[str, Any]:
        """Return the data of the next event of this name; other events are skipped."""
        async with asyncio.timeout(20):
            event = ""
            while True:
                line = (await self._response.content.readline()).decode().rstrip("\n")
                assert line or self._response.content.at_eof() is False
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: ") and event == name:
                    return dict(json.loads(line.removeprefix("data: ")))


@asynccontextmanager
async def follow(api: Api, query: str = "", **headers: str) -> AsyncIterator[EventReader]:
    token = {"Authorization": f"Bearer {api.tokens['family']}"}
    async with api.session.get(f"{api.base}{CHAT}/events{query}", headers={**token, **headers}) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        yield EventReader(response)


async def test_stream_has_messages_deliveries_and_activity() -> None:
    async with serve_chat() as api:
        await api.post(f"{CHAT}/messages", {"text": "before"}, who="family")
        async with follow(api) as events:
            await api.post(f"{CHAT}/messages", {"text": "hello"}, who="family")
            assert (await events.next("message"))["text"] == "hello"
            delivery = await answer(api, "Good morning")
            assert (await events.next("message"))["is_own"]
            now = api.app.context.clock.now()
            await DeliveryRecords(api.service.store).change(delivery.id, now, lambda found: as_sent(found, now))
            assert await events.next("delivery") == {"delivery": delivery.id, "state": "sent"}
        async with follow(api, "?after=0") as events:
            assert [(await events.next("message"))["number"] for _ in range(3)] == [1, 2, 3]
        async with follow(api, **{"Last-Event-ID": "2"}) as events:
            assert (await events.next("message"))["number"] == 3


async def test_stream_ends_with_its_token() -> None:
    async with serve_chat() as api, follow(api) as events:
        await api.service.accounts.revoke(LOCAL, "group:family")
        assert (await events.next("end"))["reason"] == "revoked"


async def test_stream_reports_when_the_agent_begins_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_chat() as api:
        working = {"is": False}

        async def is_working(_group: object) -> bool:
            return working["is"]

        monkeypatch.setattr(api.service.chats, "is_working", is_working)
        async with follow(api) as events:
            working["is"] = True
            await api.post(f"{CHAT}/messages", {"text": "hello"}, who="family")
            assert await events.next("working") == {"is_working": True}
            working["is"] = False
            await api.post(f"{CHAT}/messages", {"text": "again"}, who="family")
            assert await events.next("working") == {"is_working": False}


async def test_deliveries_are_listed_sent_again_and_discarded() -> None:
    async with serve_chat() as api:
        delivery = await answer(api, "Good morning")
        listed = (await api.get("/v1/deliveries?state=pending&chat=web:family", who="family")).json["items"]
        assert [each["id"] for each in listed] == [delivery.id]
        assert (await api.get("/v1/deliveries?state=sent", who="family")).json["items"] == []
        assert (await api.get("/v1/deliveries?state=lost", who="family")).code == "bad_choice"
        found = (await api.get(f"/v1/deliveries/{delivery.id}", who="family")).json
        assert (found["state"], found["text"], found["attempts"]) == ("pending", "Good morning", 0)
        assert (await api.post(f"/v1/deliveries/{delivery.id}/retry", who="family")).code == "delivery_not_failed"
        assert (await api.get(f"/v1/deliveries/{delivery.id}")).code == "no_such_chat_delivery"
        assert (await api.delete(f"/v1/deliveries/{delivery.id}?dry_run=true", who="family")).status == 204
        assert (await api.delete(f"/v1/deliveries/{delivery.id}", who="family")).status == 204
        assert (await api.get(f"/v1/deliveries/{delivery.id}", who="family")).status == 404
