"""The missed-run alarm and the heartbeat: what does not start is told of, also while no engine lives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from horae.clock import SystemClock
from horae.errors import Refusal, StoreUnavailable
from horae.model.change import Change
from horae.model.entry import EntryKind, EntryState
from horae.model.events.event import EventKind, NumberedEvent
from horae.model.route import route_of
from horae.outgoing.addresses import read_networks
from horae.service.events.background_work import WatchSettings, read_watch_settings, run_background_work
from horae.service.events.heartbeat_ping import MAX_LAG_SECONDS, Ping
from horae.service.runs.missed_run_alarm import MAX_BATCH, MissedRunAlarm
from horae.service.service import Service
from horae.settings import read_settings
from horae.testing.factories import a_new_task, a_node, a_task, an_entry, an_extra_entry

from .stage import LOOPBACK, HandClock, Inbox, added, house, inbox, reading, served

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GRACE = timedelta(seconds=60)
SECOND = timedelta(seconds=1)


class Scene(NamedTuple):
    service: Service
    clock: HandClock
    overdue: MissedRunAlarm

    async def alarms(self) -> list[NumberedEvent]:
        events = await self.service.store.events(0)
        return [each for each in events if each.event.kind is EventKind.TASK_OVERDUE]


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    clock = HandClock(NOON)
    async with house(clock=clock) as service:
        yield Scene(service, clock, MissedRunAlarm(service.store, clock, GRACE))


async def test_what_was_due_and_did_not_start_is_told_of_once() -> None:
    async with scene() as on:
        task = await added(on.service.store)
        on.clock.move(GRACE)
        assert await on.overdue.step() == 0, "not within the grace"
        on.clock.move(SECOND)
        assert [await on.overdue.step() for _ in range(3)] == [1, 0, 0]
        (alarm,) = await on.alarms()
        assert (alarm.event.task_id, alarm.event.owner) == (task.id, "ada")
        assert alarm.event.detail == NOON.isoformat()
        on.clock.move(timedelta(hours=5))
        another_process = MissedRunAlarm(on.service.store, on.clock, GRACE)
        assert await another_process.step() == 0


async def test_many_who_look_at_once_tell_once() -> None:
    async with scene() as on:
        for _ in range(20):
            await added(on.service.store)
        on.clock.move(2 * GRACE)
        watchers = [MissedRunAlarm(on.service.store, on.clock, GRACE) for _ in range(5)]
        await asyncio.gather(*(each.step() for each in watchers))
        assert len(await on.alarms()) == 20


async def test_the_next_occurrence_is_another_one() -> None:
    async with scene() as on:
        task = await added(on.service.store)
        on.clock.move(2 * GRACE)
        assert await on.overdue.step() == 1
        later = an_entry(task, due=NOON + timedelta(hours=1))
        await on.service.store.change(task.id, None, lambda _: Change(put=(later,)))
        assert await on.overdue.step() == 0
        on.clock.move(timedelta(hours=1))
        assert await on.overdue.step() == 1


async def test_who_waits_by_the_rules_is_not_late_but_who_waits_for_a_node_is() -> None:
    async with scene() as on:
        for stand, lane in ((EntryState.HELD, None), (EntryState.PARKED, "narrow"), (EntryState.ASLEEP, None)):
            task = a_task(lane=lane)
            await on.service.store.add([a_new_task(task, entries=[an_entry(task, state=stand, lane=lane)])])
        for kind in (EntryKind.RESUME, EntryKind.DEADLINE):
            task = a_task()
            other = an_extra_entry(task, kind=kind, slot=kind.value)
            await on.service.store.add([a_new_task(task, entries=[other])])
        stranded = a_task()
        door = an_entry(stranded, state=EntryState.PARKED, lane=route_of(stranded.target))
        await on.service.store.add([a_new_task(stranded, entries=[door])])
        on.clock.move(2 * GRACE)
        await on.overdue.step()
        assert [alarm.event.task_id for alarm in await on.alarms()] == [stranded.id]


async def test_nobody_is_forgotten_however_many_are_late() -> None:
    async with scene() as on:
        tasks = [await added(on.service.store) for _ in range(3 * MAX_BATCH + 5)]
        on.clock.move(2 * GRACE)
        told = [await on.overdue.step() for _ in range(5)]
        assert told == [MAX_BATCH, MAX_BATCH, MAX_BATCH, 5, 0]
        assert {alarm.event.task_id for alarm in await on.alarms()} == {task.id for task in tasks}


async def test_the_alarm_reaches_those_who_listen_while_no_engine_lives() -> None:
    async with served() as api, reading(api, "?types=task.overdue") as reader:
        going = asyncio.ensure_future(
            run_background_work(api.service, SystemClock(), WatchSettings(grace=timedelta(seconds=1)))
        )
        task = await added(api.service.store)
        frame = await reader.frame()
        assert frame is not None
        assert (frame.event, frame.data["data"]["task_id"]) == ("task.overdue", task.id)
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)


# --- the heartbeat ---------------------------------------------------------------------------------------------------


async def a_ping(service: Service, clock: HandClock, box: Inbox, path: str = "/beat?key=1") -> Ping:
    watches = WatchSettings(GRACE, box.base + path, GRACE, read_networks(["127.0.0.0/8"]))
    return Ping(service.store, clock, watches)


async def test_the_heartbeat_says_what_is_wrong_and_nothing_when_all_is_well() -> None:
    async with scene() as on, inbox() as box:
        ping = await a_ping(on.service, on.clock, box)
        await ping.step()
        await on.service.store.join(a_node(joined=NOON, renewed=NOON))
        await ping.step()
        await ping.step(lag=2 * MAX_LAG_SECONDS)
        await added(on.service.store)
        await ping.step()
        on.clock.move(2 * GRACE)
        await on.service.store.renew_lease("node-1", on.clock.now())
        await ping.step()
        await ping.close()
        said = [(post.path, post.body.decode()) for post in box.posts]
        assert said == [
            ("/beat/fail", "no engine is alive"),
            ("/beat", ""),
            ("/beat/fail", "the process was held up for 10 s"),
            ("/beat", ""),
            ("/beat/fail", "something has been due for 120 s and has not started"),
        ]


async def test_a_store_that_does_not_answer_is_bad_news_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene() as on, inbox() as box:

        async def away() -> None:
            raise StoreUnavailable("host db-1.internal is away")

        monkeypatch.setattr(on.service.store, "nodes", away)
        ping = await a_ping(on.service, on.clock, box)
        await ping.step()
        await ping.close()
        assert [post.body for post in box.posts] == [b"the store does not answer"]


async def test_beside_a_server_the_heartbeat_goes_on_and_on() -> None:
    async with house() as service, inbox() as box:
        watches = WatchSettings(GRACE, box.base + "/beat", timedelta(seconds=0.05), read_networks(["127.0.0.0/8"]))
        going = asyncio.ensure_future(run_background_work(service, SystemClock(), watches))
        await box.until(3)
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"HORAE_PING_URL": "http://127.0.0.1/x"}, "address_not_public"),
        ({"HORAE_PING_URL": "file:///x"}, "url_scheme"),
        ({"HORAE_PING_EVERY": "soon"}, "bad_ping"),
        ({"HORAE_PING_EVERY": "0"}, "bad_ping"),
        ({"HORAE_OVERDUE_GRACE": "-1s"}, "bad_ping"),
        ({"HORAE_OUTGOING_NETWORKS": "everything"}, "bad_network"),
    ],
)
def test_settings_that_could_never_work_are_refused(environment: dict[str, str], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_watch_settings(read_settings(environment))
    assert refused.value.code == code


def test_settings_as_they_are_usually() -> None:
    assert read_watch_settings(read_settings({})) == WatchSettings()
    chosen = read_watch_settings(
        read_settings({"HORAE_OVERDUE_GRACE": "90", "HORAE_PING_URL": "http://[::1]/a", **LOOPBACK})
    )
    assert (chosen.grace, chosen.url) == (timedelta(seconds=90), "http://[::1]/a")
