"""`ListenerRegistry`: event streams and app handlers are counted per event, and a task without a listener is warned about."""

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
    await _check_streams()


async def _check_streams() -> None:
    async with serve_api() as api:
        assert await _warning_codes(api, "ada") == ["no_listener"]
        async with _open_stream(api, "ada", "/v1/events"):
            assert await _warning_codes(api, "ada") == []
            assert await _warning_codes(api, "bob") == ["no_listener"]
            async with _open_stream(api, "bob", f"/v1/events?types={EventKind.RUN_FAILED.value}"):
                assert await _warning_codes(api, "bob") == ["no_listener"]


async def _warning_codes(api: Api, who: str) -> list[str]:
    made = await api.post("/v1/tasks", REMINDER, who=who)
    return [each["code"] for each in made.json["warnings"]]


def _open_stream(api: Api, who: str, path: str) -> aiohttp.client._RequestContextManager:
    headers = {"Authorization": f"Bearer {api.tokens[who]}", "Accept": "text/event-stream"}
    return api.session.get(api.base + path, headers=headers)


async def test_handler_of_an_app_is_counted() -> None:
    await _check_handlers()


async def _check_handlers() -> None:
    app, handled = Horae("memory://", zone="UTC"), asyncio.Event()

    @app.on("kettle.*")
    def handle(_happening: object) -> None:
        handled.set()

    async with app:
        boiled = await (await app.schedule({"event": "kettle.boiled"}, "now")).wait("30s")
        assert boiled.value == {"delivered": 1, "to": {"process": 1}}
        await handled.wait()
        unhandled = await (await app.schedule({"say": "tea"}, "now")).wait("30s")
        assert unhandled.value == {"delivered": 0, "to": {}}
        reach = await app.service.listeners.reach("local", "tsk_1", "kettle.boiled", fresh=True)
        assert (reach.total, reach.streams, reach.webhooks) == (1, 0, 0)


class ManualClock:
    """A clock that moves only when a test sets it."""

    def __init__(self) -> None:
        self.instant = datetime(2026, 3, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.instant

    def steady(self) -> float:
        return self.instant.timestamp()

    async def pause(self, _seconds: float) -> None:
        await asyncio.Event().wait()


async def test_listener_of_a_dead_process_expires() -> None:
    await _check_expiry()


async def _check_expiry() -> None:
    store, clock = MemoryStore(), ManualClock()
    await store.open()
    registry, announcer = ListenerRegistry(store, clock), ListenerAnnouncer(store, clock)  # type: ignore[arg-type]
    await announcer.join(ListenerKind("stream", "ada"))
    await announcer.join(ListenerKind("stream", "ada", "tsk_2"))
    assert (await registry.reach("ada", "tsk_1", "task.triggered")).streams == 1
    assert (await registry.reach("ada", "tsk_2", "task.triggered")).streams == 2
    assert (await registry.reach("bob", "tsk_1", "task.triggered")).total == 0
    clock.instant += timedelta(seconds=31)
    assert (await registry.reach("ada", "tsk_2", "task.triggered")).total == 0
    await announcer.close()
    assert not (await store.records("listener")).items
    await store.close()
