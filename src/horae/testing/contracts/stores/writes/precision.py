"""Contract of precision: every field of every value is read back exactly, to the microsecond."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from .....model.change import Change
from .....model.entry import Entry, EntryKind, EntryState
from .....model.events.event import Event, EventKind
from .....model.policy import Missed, Policies, RetryPolicy
from .....model.reason import Reason
from .....model.run import Origin, Run, RunState, Span
from .....model.task import Pause, PauseCause, Target, Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....schedule import AnyOf, Calendar, Cron, Every, Now, Once, RRule, Schedule
from ....decisions import always
from ....factories import HOUR, MICROSECOND, NOON, a_new_task, a_run, a_task, an_ended_run, an_entry
from ..contract import Contract
from ..setup import get_facts

_TEXT = 'Zoë\'s "plants" – 花を\n水やり 🌱 %s ; -- \\ \t{}'
_INSTANTS = (
    NOON + MICROSECOND,
    NOON - MICROSECOND,
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1900, 1, 1, tzinfo=UTC),
    datetime(2262, 4, 12, 3, 47, 16, 854_776, tzinfo=UTC),
    datetime(9999, 12, 27, 23, 59, 59, 999_999, tzinfo=UTC),
)


_POLICIES = Policies(
    missed=Missed("all", timedelta(hours=1, microseconds=1), 7),
    overlap="queue_all",
    retry=RetryPolicy(None, timedelta(0), 1.5, timedelta(days=1), "none", superseded_by_next=False),
    give_up_after=None,
    timeout=timedelta(milliseconds=1),
    max_duration=timedelta(days=3, microseconds=999_999),
    guarantee="at_most_once",
    priority=-100,
    start_within=timedelta(minutes=10, microseconds=1),
)


def _schedules() -> list[Schedule]:
    return [
        Now(),
        Once(at=NOON + MICROSECOND),
        Once(at=datetime(2026, 3, 1, 15, 0, 0, 1), zone="Asia/Shanghai"),  # noqa: DTZ001 - wall time
        Every(interval=timedelta(seconds=90, microseconds=1), start=NOON, end=NOON + HOUR, repeat=3),
        Every(interval=HOUR, since="end", counting="planned"),
        Cron(expression="*/5 9-17 * * MON-FRI", zone="Europe/Berlin", gap="skip", fold="both", jitter=HOUR),
        Calendar(unit="week", every=2, on=(0, 3), at=(time(9, 30),), zone="UTC", start=date(2026, 3, 1)),
        Calendar(unit="month", on=(-1, 15), at=(time(17),), zone="America/New_York"),
        RRule("FREQ=MONTHLY;BYDAY=-1FR;COUNT=5", start=NOON, zone="Europe/Berlin"),
        AnyOf(
            (Every(interval=HOUR), Cron(expression="0 9 * * *", zone="Asia/Shanghai", gap="skip")),
            zone="UTC",
            start=NOON,
            jitter=HOUR,
        ),
    ]


async def _stored(store: FullStore, task: Task) -> Task:
    await store.add([a_new_task(task)])
    return (await get_facts(store, task)).task


class PrecisionContract(Contract):
    async def test_every_field_of_a_task_comes_back(self, store: FullStore) -> None:
        task = a_task(
            owner=_TEXT,
            name=_TEXT,
            target=Target("http", '{"url": "https://example.org/ä"}'),
            payload='{"text": "漢字", "number": 1.0, "nothing": null}',
            policies=_POLICIES,
            created=NOON + MICROSECOND,
            key=_TEXT,
            lane=_TEXT,
            labels=(("b", "2"), ("a", ""), ("ключ", "значение")),
            version=12,
        )
        assert await _stored(store, task) == task
        plain = a_task(owner="", name="", payload="")
        assert await _stored(store, plain) == plain

    async def test_every_kind_of_schedule_comes_back(self, store: FullStore) -> None:
        for schedule in _schedules():
            assert (await _stored(store, a_task(schedule=schedule))).schedule == schedule

    async def test_every_field_of_a_task_status_comes_back(self, store: FullStore) -> None:
        pauses = [Pause(NOON + MICROSECOND, cause, _TEXT, NOON + HOUR + MICROSECOND) for cause in PauseCause]
        statuses = [
            TaskStatus(TaskState.PAUSED, 5, 4, 3, NOON - MICROSECOND, _TEXT, pause, Reason.PAUSED) for pause in pauses
        ]
        statuses += [TaskStatus(state, reason=Reason.QUARANTINED, ended=NOON + MICROSECOND) for state in TaskState]
        statuses += [TaskStatus(TaskState.PAUSED, last_result="", pause=Pause(NOON))]
        task = a_task()
        await store.add([a_new_task(task)])
        for status in statuses:
            facts = await store.change(task.id, None, always(Change(status=status)))
            assert facts is not None
            assert facts.status == status
            assert (await get_facts(store, task)).status == status

    async def test_every_field_of_an_entry_comes_back(self, store: FullStore) -> None:
        task = a_task()
        entries = [
            Entry(
                task_id=task.id,
                slot=f"{kind}/{_TEXT}",
                kind=kind,
                due=NOON + HOUR + MICROSECOND,
                planned=NOON - MICROSECOND,
                owner=task.owner,
                priority=-7,
                state=EntryState.HELD,
                origin=Origin.BACKFILL,
                attempt=3,
                forgiven=2,
                deaths=1,
                through=NOON + 3 * MICROSECOND,
                span=Span(NOON, NOON + MICROSECOND, 2),
                waited=True,
                in_order=True,
                lane=_TEXT,
                run_id="run_1",
            )
            for kind in EntryKind
        ]
        states = [
            an_entry(task, slot=f"state/{state}", state=state) for state in EntryState if state is not EntryState.READY
        ]
        await store.add([a_new_task(task, entries=[*entries, *states])])
        assert sorted((await get_facts(store, task)).entries) == sorted([*entries, *states])

    async def test_every_field_of_a_run_comes_back(self, store: FullStore) -> None:
        task = a_task()
        full = Run(
            id="run_full",
            task_id=task.id,
            owner=task.owner,
            origin=Origin.BACKFILL,
            planned=NOON + MICROSECOND,
            due=NOON + 2 * MICROSECOND,
            attempt=9,
            state=RunState.RUNNING,
            reason=Reason.MERGED,
            token=2**40,
            node="node-ä",
            claimed=NOON + 3 * MICROSECOND,
            started=NOON + 4 * MICROSECOND,
            ended=None,
            deadline=NOON + 5 * MICROSECOND,
            span=Span(NOON - MICROSECOND, NOON + MICROSECOND, 2_600_000),
            forgiven=4,
            deaths=3,
            alone=True,
            in_order=True,
            cancel=Reason.REPLACED,
            lanes=("press", _TEXT),
            result_json=_TEXT,
            error=_TEXT,
        )
        plain = a_run(task, planned=NOON + HOUR, node=None, claimed=None, started=None)
        states = [an_ended_run(task, planned=NOON, attempt=place, state=each) for place, each in enumerate(RunState, 2)]
        await store.add([a_new_task(task, runs=[full, plain, *states])])
        for run in (full, plain, *states):
            assert await store.run(run.id, None) == run
        moved = full._replace(state=RunState.FAILED, ended=NOON + MICROSECOND, result_json=None, error="", lanes=())
        await store.change(task.id, None, always(Change(updated_runs=(moved,))))
        assert await store.run(full.id, None) == moved

    async def test_every_field_of_an_event_comes_back(self, store: FullStore) -> None:
        task = a_task()
        await store.add([a_new_task(task)._replace(events=())])
        events = [Event(kind, NOON + MICROSECOND, task.owner, task.id, "run_1", _TEXT) for kind in EventKind]
        events += [Event(EventKind.TASK_EDITED, NOON, task.owner, task.id), events[0]._replace(detail="")]
        await store.change(task.id, None, always(Change(events=tuple(events))))
        assert [numbered.event for numbered in await store.events(0)] == events

    async def test_instants_are_exact_near_and_far(self, store: FullStore) -> None:
        task = a_task()
        entries = [
            an_entry(task, due=each, slot=f"far/{place}", state=EntryState.HELD) for place, each in enumerate(_INSTANTS)
        ]
        await store.add([a_new_task(task, entries=entries)])
        assert sorted((await get_facts(store, task)).entries) == sorted(entries)
        for instant in _INSTANTS:
            other = a_task()
            await store.add([a_new_task(other, entries=[an_entry(other, due=instant)])])
            assert await store.next_due() == instant
            await store.change(other.id, None, always(Change(deleted=True)))
