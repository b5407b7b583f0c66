"""`MissedRunAlarm` and the heartbeat ping: overdue tasks are reported once, also while no engine runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import NamedTuple

import pytest

from horae.clock import SystemClock
from horae.errors import Refusal, StoreUnavailable
from horae.model.accounts.principal import Principal
from horae.model.change import Change
from horae.model.entry import EntryKind, EntryState
from horae.model.events.event import EventKind, NumberedEvent
from horae.model.lanes.route import route_of
from horae.model.task import Target
from horae.outgoing.addresses import read_networks
from horae.service.events.background_work import WatchSettings, read_watch_settings, run_background_work
from horae.service.events.heartbeat_ping import MAX_LAG_SECONDS, Ping
from horae.service.runs.missed_run_alarm import MAX_BATCH, MissedRunAlarm
from horae.service.service import Service
from horae.service.tasks.task_request import Options, TaskRequest
from horae.settings import read_settings
from horae.testing.factories import NOON, a_new_task, a_node, a_task, an_entry, an_extra_entry

from .event_server import (
    LOOPBACK,
    ManualClock,
    WebhookReceiver,
    add_task,
    open_service,
    read_stream,
    serve_api,
    webhook_receiver,
)

GRACE = timedelta(seconds=60)
SECOND = timedelta(seconds=1)


class AlarmSetup(NamedTuple):
    service: Service
    clock: ManualClock
    alarm: MissedRunAlarm

    async def alarms(self) -> list[NumberedEvent]:
        events = await self.service.store.events(0)
        return [each for each in events if each.event.kind is EventKind.TASK_OVERDUE]


@asynccontextmanager
async def alarm_setup() -> AsyncIterator[AlarmSetup]:
    clock = ManualClock(NOON)
    async with open_service(clock=clock) as service:
        yield AlarmSetup(service, clock, MissedRunAlarm(service.store, clock, GRACE))


async def test_overdue_task_is_reported_once() -> None:
    async with alarm_setup() as setup:
        task = await add_task(setup.service.store)
        setup.clock.move(GRACE)
        assert await setup.alarm.step() == 0, "not within the grace"
        setup.clock.move(SECOND)
        assert [await setup.alarm.step() for _ in range(3)] == [1, 0, 0]
        (alarm,) = await setup.alarms()
        assert (alarm.event.task_id, alarm.event.owner) == (task.id, "ada")
        assert alarm.event.detail == NOON.isoformat()
        setup.clock.move(timedelta(hours=5))
        another_process = MissedRunAlarm(setup.service.store, setup.clock, GRACE)
        assert await another_process.step() == 0


async def test_concurrent_alarms_report_each_task_once() -> None:
    async with alarm_setup() as setup:
        for _ in range(20):
            await add_task(setup.service.store)
        setup.clock.move(2 * GRACE)
        watchers = [MissedRunAlarm(setup.service.store, setup.clock, GRACE) for _ in range(5)]
        await asyncio.gather(*(each.step() for each in watchers))
        assert len(await setup.alarms()) == 20


async def test_next_overdue_occurrence_is_reported_again() -> None:
    async with alarm_setup() as setup:
        task = await add_task(setup.service.store)
        setup.clock.move(2 * GRACE)
        assert await setup.alarm.step() == 1
        later = an_entry(task, due=NOON + timedelta(hours=1))
        await setup.service.store.change(task.id, None, lambda _: Change(put=(later,)))
        assert await setup.alarm.step() == 0
        setup.clock.move(timedelta(hours=1))
        assert await setup.alarm.step() == 1


async def test_entries_held_by_policy_are_not_overdue_and_entries_without_a_node_are() -> None:
    async with alarm_setup() as setup:
        for state, lane in ((EntryState.HELD, None), (EntryState.PARKED, "narrow"), (EntryState.ASLEEP, None)):
            task = a_task(lane=lane)
            await setup.service.store.add([a_new_task(task, entries=[an_entry(task, state=state, lane=lane)])])
        for kind in (EntryKind.RESUME, EntryKind.DEADLINE):
            task = a_task()
            other = an_extra_entry(task, kind=kind, slot=kind.value)
            await setup.service.store.add([a_new_task(task, entries=[other])])
        stranded = a_task()
        parked = an_entry(stranded, state=EntryState.PARKED, lane=route_of(stranded.target))
        await setup.service.store.add([a_new_task(stranded, entries=[parked])])
        setup.clock.move(2 * GRACE)
        await setup.alarm.step()
        assert [alarm.event.task_id for alarm in await setup.alarms()] == [stranded.id]


async def test_more_overdue_tasks_than_a_batch_are_all_reported() -> None:
    async with alarm_setup() as setup:
        tasks = [await add_task(setup.service.store) for _ in range(3 * MAX_BATCH + 5)]
        setup.clock.move(2 * GRACE)
        reported = [await setup.alarm.step() for _ in range(5)]
        assert reported == [MAX_BATCH, MAX_BATCH, MAX_BATCH, 5, 0]
        assert {alarm.event.task_id for alarm in await setup.alarms()} == {task.id for task in tasks}


async def test_alarm_reaches_event_streams_without_an_engine() -> None:
    async with serve_api() as api, read_stream(api, "?types=task.overdue") as reader:
        background = asyncio.ensure_future(
            run_background_work(api.service, SystemClock(), WatchSettings(grace=timedelta(seconds=1)))
        )
        task = await add_task(api.service.store)
        frame = await reader.frame()
        assert frame is not None
        assert (frame.event, frame.data["data"]["task_id"]) == ("task.overdue", task.id)
        background.cancel()
        await asyncio.gather(background, return_exceptions=True)


# --- the heartbeat ---------------------------------------------------------------------------------------------------


async def make_ping(service: Service, clock: ManualClock, receiver: WebhookReceiver, path: str = "/beat?key=1") -> Ping:
    watches = WatchSettings(GRACE, receiver.base + path, GRACE, read_networks(["127.0.0.0/8"]))
    return Ping(service.store, clock, watches)


async def test_ping_reports_problems_and_is_empty_when_healthy() -> None:
    async with alarm_setup() as setup, webhook_receiver() as receiver:
        ping = await make_ping(setup.service, setup.clock, receiver)
        await ping.step()
        await setup.service.store.join(a_node(joined=NOON, renewed=NOON))
        await ping.step()
        await ping.step(lag=2 * MAX_LAG_SECONDS)
        await add_task(setup.service.store)
        await ping.step()
        setup.clock.move(2 * GRACE)
        await setup.service.store.renew_lease("node-1", setup.clock.now())
        await ping.step()
        await ping.close()
        pings = [(request.path, request.body.decode()) for request in receiver.requests]
        assert pings == [
            ("/beat/fail", "no engine is alive"),
            ("/beat", ""),
            ("/beat/fail", "the process was held up for 10 s"),
            ("/beat", ""),
            ("/beat/fail", "something has been due for 120 s and has not started"),
        ]


async def test_ping_reports_an_unavailable_store(monkeypatch: pytest.MonkeyPatch) -> None:
    async with alarm_setup() as setup, webhook_receiver() as receiver:

        async def fail() -> None:
            raise StoreUnavailable("host db-1.internal is away")

        monkeypatch.setattr(setup.service.store, "nodes", fail)
        ping = await make_ping(setup.service, setup.clock, receiver)
        await ping.step()
        await ping.close()
        assert [request.body for request in receiver.requests] == [b"the store does not answer"]


async def test_ping_is_repeated_by_the_background_work() -> None:
    async with open_service() as service, webhook_receiver() as receiver:
        watches = WatchSettings(GRACE, receiver.base + "/beat", timedelta(seconds=0.05), read_networks(["127.0.0.0/8"]))
        background = asyncio.ensure_future(run_background_work(service, SystemClock(), watches))
        await receiver.wait_for(3)
        background.cancel()
        await asyncio.gather(background, return_exceptions=True)


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
def test_invalid_watch_settings_are_refused(environment: dict[str, str], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_watch_settings(read_settings(environment))
    assert refused.value.code == code


def test_default_and_given_watch_settings() -> None:
    assert read_watch_settings(read_settings({})) == WatchSettings()
    chosen = read_watch_settings(
        read_settings({"HORAE_OVERDUE_GRACE": "90", "HORAE_PING_URL": "http://[::1]/a", **LOOPBACK})
    )
    assert (chosen.grace, chosen.url) == (timedelta(seconds=90), "http://[::1]/a")


async def test_task_without_a_node_that_has_its_labels_is_reported_after_the_grace() -> None:
    async with alarm_setup() as setup:
        request = TaskRequest(
            "train", "in 10m", Target("event", "{}"), zone="UTC", options=Options(where={"gpu": "a100"})
        )
        task = await setup.service.tasks.create(Principal("ada"), request)
        await setup.service.store.join(a_node(renewed=NOON))
        setup.clock.move(timedelta(minutes=10) + GRACE)
        assert await setup.alarm.step() == 0, "not within the grace"
        setup.clock.move(SECOND)
        assert [await setup.alarm.step() for _ in range(3)] == [1, 0, 0]
        (alarm,) = await setup.alarms()
        assert (alarm.event.task_id, alarm.event.detail) == (task.id, (NOON + timedelta(minutes=10)).isoformat())
