"""Background work of a process that serves: an idle one asks the store seldom, and follows what another process writes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.model.accounts.principal import LOCAL, Principal
from horae.model.change import Change
from horae.runtime.api_service import AuditSealer, QuotaEnforcer, open_service
from horae.runtime.service_factory import make_service
from horae.runtime.target_kinds import TargetKinds
from horae.service.events.background_work import WatchSettings, run_background_work
from horae.service.events.webhook_dispatcher import WebhookDispatcher
from horae.service.runs.missed_run_alarm import MissedRunAlarm
from horae.service.service import Service
from horae.settings import read_settings
from horae.stores.memory import MemoryStore
from horae.testing.decisions import always
from horae.testing.factories import MINUTE, NOON, a_new_task, a_task, an_entry, an_event
from horae.virtual_time import VirtualClock

from .event_server import LOOPBACK, ManualClock

ADA = Principal("ada")
GRACE = timedelta(seconds=60)


class CountedStore(MemoryStore):
    """Counts the reads of loops that poll."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: Counter[str] = Counter()

    async def records(self, kind: str, *arguments: Any, **options: Any) -> Any:
        self.reads[kind] += 1
        return await super().records(kind, *arguments, **options)

    async def last_event(self) -> int:
        self.reads["last_event"] += 1
        return await super().last_event()

    async def upcoming(self, *arguments: Any) -> Any:
        self.reads["upcoming"] += 1
        return await super().upcoming(*arguments)


class OtherProcess:
    """Notifier whose other end is the test."""

    def __init__(self) -> None:
        self.notify: Callable[[], None] = lambda: None

    def listen(self, heard: Callable[[], None]) -> None:
        self.notify = heard

    def close(self) -> None: ...

    async def finish(self) -> None: ...


@asynccontextmanager
async def idle_process(clock: VirtualClock) -> AsyncIterator[tuple[Service, CountedStore]]:
    """A service with the background work of the API."""
    store = CountedStore()
    await store.open()
    service = make_service("memory://", store, clock, "UTC", TargetKinds(read_settings(LOOPBACK)))
    work = [
        asyncio.ensure_future(run_background_work(service, clock, WatchSettings())),
        asyncio.ensure_future(AuditSealer(service, clock).run()),
        asyncio.ensure_future(QuotaEnforcer(service, clock).run()),
    ]
    try:
        yield service, store
    finally:
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await store.close()


@pytest.mark.parametrize(("is_connected", "most"), [(False, 900), (True, 120)])
async def test_idle_process_polls_seldom_where_it_hears_of_changes(
    clock: VirtualClock,
    is_connected: bool,  # noqa: FBT001
    most: int,
) -> None:
    async with idle_process(clock) as (service, store):
        if is_connected:
            service.changes.connect(OtherProcess())
        await clock.pause(60)
        store.reads.clear()
        await clock.pause(1_200)
    assert store.reads.keys() >= {"webhook", "destination", "audit.open", "upcoming", "last_event"}
    assert most / 2 <= store.reads.total() <= most


async def test_quotas_are_enforced_after_each_change_and_now_and_then(clock: VirtualClock) -> None:
    """A run of another process is an event; an owner may have free room once retention has deleted rows."""
    async with idle_process(clock) as (service, store):
        service.changes.connect(OtherProcess())
        await clock.pause(90)

        async def count(seconds: float) -> int:
            store.reads.clear()
            await clock.pause(seconds)
            return store.reads["agent"]

        assert await count(480) == 0
        await store.add([a_new_task(task := a_task(), entries=[an_entry(task, due=NOON + 600 * MINUTE)])])
        await store.change(task.id, None, always(Change(events=(an_event(task),))))
        assert await count(60) == 1
        assert await count(480) == 0
        assert await count(240) == 1
        service.changes.note()
        assert await count(60) == 1


async def test_webhook_of_another_process_is_found_once_it_notifies(clock: VirtualClock) -> None:
    other = OtherProcess()
    async with idle_process(clock) as (service, store):
        service.changes.connect(other)
        await clock.pause(90)
        store.reads.clear()
        other.notify()
        await clock.pause(6)
        assert store.reads["webhook"] == store.reads["audit.open"] == 1


async def test_notifications_in_a_row_do_not_poll_more_often(clock: VirtualClock) -> None:
    other = OtherProcess()
    async with idle_process(clock) as (service, store):
        service.changes.connect(other)
        for _ in range(600):
            await clock.pause(0.1)
            other.notify()
        assert store.reads["webhook"] <= 13
        assert store.reads["audit.open"] <= 13


async def test_alarm_pauses_until_something_can_be_late() -> None:
    clock, store = ManualClock(NOON), MemoryStore()
    await store.open()
    alarm = MissedRunAlarm(store, clock, GRACE)
    assert await alarm.step() == 0
    assert alarm.pause == 60
    for due, pause in ((NOON + 60 * MINUTE, 60), (NOON - timedelta(seconds=20), 40), (NOON - 2 * MINUTE, 5)):
        task = a_task()
        await store.add([a_new_task(task, entries=[an_entry(task, due=due)])])
        await alarm.step()
        assert alarm.pause == pause
    await store.close()


async def test_process_on_redis_serves_a_webhook_that_another_one_has_added(redis_url: str, tmp_path: Path) -> None:
    """The two services share the server alone."""
    settings = read_settings(LOOPBACK | {"HORAE_KEY_FILE": str(tmp_path / "horae.key")})
    async with (
        open_service(redis_url, "UTC", settings) as (service, clock),
        open_service(redis_url, "UTC", settings) as (other, _),
    ):
        assert service.changes.is_connected
        client = service.webhooks.client
        dispatcher = WebhookDispatcher(service.store, client, service.event_encoder, clock, changes=service.changes)
        running = asyncio.ensure_future(dispatcher.run())
        seen = service.changes.number
        webhook, _secret = await other.webhooks.create(ADA, "http://127.0.0.1:9/x")
        async with asyncio.timeout(20):
            await service.changes.wait(seen, 20)
            while webhook.id not in dispatcher.endpoints:
                await clock.pause(0.05)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await other.webhooks.remove(LOCAL, webhook.id)
