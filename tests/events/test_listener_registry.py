"""Event streams and app handlers are listeners: counted when an event fires, and known to those who make tasks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import aiohttp

from horae import Horae
from horae.model.events.event import EventKind
from horae.service.events.listeners import ListenerAnnouncer, ListenerKind, ListenerRegistry
from horae.stores.memory import MemoryStore
from tests.api.api_server import Api, serve_api

REMINDER = {"name": "tea", "when": "every 1h", "zone": "UTC", "say": "tea"}


async def test_event_stream_is_a_listener_of_its_owner_alone() -> None:
    await _streamed()


async def _streamed() -> None:
    async with serve_api() as api:
        assert await _codes(api, "ada") == ["no_listener"]
        async with _stream(api, "ada", "/v1/events"):
            assert await _codes(api, "ada") == []
            assert await _codes(api, "bob") == ["no_listener"]
            async with _stream(api, "bob", f"/v1/events?types={EventKind.RUN_FAILED.value}"):
                assert await _codes(api, "bob") == ["no_listener"]


async def _codes(api: Api, who: str) -> list[str]:
    made = await api.post("/v1/tasks", REMINDER, who=who)
    return [each["code"] for each in made.json["warnings"]]


def _stream(api: Api, who: str, path: str) -> aiohttp.client._RequestContextManager:
    headers = {"Authorization": f"Bearer {api.tokens[who]}", "Accept": "text/event-stream"}
    return api.session.get(api.base + path, headers=headers)


async def test_handler_of_an_app_is_counted() -> None:
    await _handled()


async def _handled() -> None:
    app, told = Horae("memory://", zone="UTC"), asyncio.Event()

    @app.on("kettle.*")
    def handle(_happening: object) -> None:
        told.set()

    async with app:
        boiled = await (await app.schedule({"event": "kettle.boiled"}, "now")).wait("30s")
        assert boiled.value == {"delivered": 1, "to": {"process": 1}}
        await told.wait()
        said = await (await app.schedule({"say": "tea"}, "now")).wait("30s")
        assert said.value == {"delivered": 0, "to": {}}
        reach = await app.service.listeners.reach("local", "tsk_1", "kettle.boiled", fresh=True)
        assert (reach.total, reach.streams, reach.webhooks) == (1, 0, 0)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def steady(self) -> float:
        return self.at.timestamp()

    async def pause(self, _seconds: float) -> None:
        await asyncio.Event().wait()


async def test_listener_of_a_process_that_died_is_forgotten() -> None:
    await _expired()


async def _expired() -> None:
    store, clock = MemoryStore(), Clock()
    await store.open()
    presence, announcer = ListenerRegistry(store, clock), ListenerAnnouncer(store, clock)  # type: ignore[arg-type]
    await announcer.join(ListenerKind("stream", "ada"))
    await announcer.join(ListenerKind("stream", "ada", "tsk_2"))
    assert (await presence.reach("ada", "tsk_1", "task.triggered")).streams == 1
    assert (await presence.reach("ada", "tsk_2", "task.triggered")).streams == 2
    assert (await presence.reach("bob", "tsk_1", "task.triggered")).total == 0
    clock.at += timedelta(seconds=31)
    assert (await presence.reach("ada", "tsk_2", "task.triggered")).total == 0
    await announcer.close()
    assert not (await store.records("listener")).items
    await store.close()
