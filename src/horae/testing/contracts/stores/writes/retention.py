"""Contract of retention: deletes by age and by count, in batches resumed by a cursor, and never live runs."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime

from .....model.change import Change
from .....model.events.event import Event, EventKind
from .....model.run import Origin, Run, RunState
from .....model.task import Task, TaskState, TaskStatus
from .....ports.full_store import FullStore
from .....ports.journal import Line
from .....ports.store import RunFilter, TaskFilter, TrimResult
from ....decisions import always
from ....factories import DAY, HOUR, NOON, a_new_task, a_run, a_task, an_ended_run, an_entry, an_event
from ..contract import Contract

_LONG_AGO = NOON - 100 * DAY
_MANY = 1_000_000


async def _trim(
    store: FullStore, before: datetime = NOON, keep_runs: int = _MANY, limit: int = 1_000, since: str | None = None
) -> list[TrimResult]:
    """Trim in batches until nothing is left to delete."""
    batches: list[TrimResult] = []
    while not batches or batches[-1].more:
        after = batches[-1].after if batches else since
        batches.append(await store.trim(before, keep_runs, limit, after))
    return batches


def _removed(batches: list[TrimResult]) -> tuple[int, int, int]:
    return sum(each.runs for each in batches), sum(each.tasks for each in batches), sum(each.events for each in batches)


def _daily_runs(task: Task, first: datetime, count: int) -> list[Run]:
    return [an_ended_run(task, planned=first + place * DAY) for place in range(count)]


def _ended_status(at: datetime, state: TaskState = TaskState.COMPLETED) -> TaskStatus:
    return TaskStatus(state, ended=at)


def _event_of(run: Run) -> Event:
    return Event(EventKind.RUN_SUCCEEDED, NOON, run.owner, run.task_id, run.id)


async def _remaining(store: FullStore, task: Task) -> list[Run]:
    return list((await store.runs(RunFilter(task_id=task.id), limit=1_000)).items)


class RetentionContract(Contract):
    async def test_runs_that_ended_before_the_cutoff_are_deleted(self, store: FullStore) -> None:
        task = a_task(created=NOON)
        runs = _daily_runs(task, NOON - 5 * DAY, 10)
        await store.add([a_new_task(task, runs=runs)])
        last_to_go = runs[3]
        assert last_to_go.ended is not None
        assert _removed(await _trim(store, last_to_go.ended)) == (3, 0, 0)
        assert await _remaining(store, task) == runs[:2:-1]

    async def test_runs_beyond_the_newest_n_of_a_task_are_deleted(self, store: FullStore) -> None:
        task, other = a_task(), a_task()
        runs, others = _daily_runs(task, NOON, 10), _daily_runs(other, NOON, 2)
        await store.add([a_new_task(task, runs=runs), a_new_task(other, runs=others)])
        assert _removed(await _trim(store, _LONG_AGO, keep_runs=3)) == (7, 0, 0)
        assert await _remaining(store, task) == runs[:6:-1]
        assert await _remaining(store, other) == others[::-1]

    async def test_live_runs_are_never_deleted(self, store: FullStore) -> None:
        task = a_task()
        live = [a_run(task, planned=_LONG_AGO + place * HOUR, state=state) for place, state in enumerate(_LIVE)]
        ended = an_ended_run(task, planned=_LONG_AGO - HOUR)
        await store.add([a_new_task(task, status=_ended_status(_LONG_AGO), entries=[], runs=[*live, ended])])
        assert _removed(await _trim(store, keep_runs=0))[:2] == (1, 0)
        assert sorted(run.id for run in await _remaining(store, task)) == sorted(run.id for run in live)

    async def test_live_runs_do_not_count_towards_the_run_limit(self, store: FullStore) -> None:
        task = a_task()
        runs = _daily_runs(task, NOON, 3)
        live = a_run(task, planned=NOON + 9 * DAY)
        await store.add([a_new_task(task, runs=[*runs, live])])
        await _trim(store, _LONG_AGO, keep_runs=2)
        assert await _remaining(store, task) == [live, runs[2], runs[1]]

    async def test_an_ended_task_is_deleted_with_its_runs(self, store: FullStore) -> None:
        over = [a_task(key=str(state)) for state in _OVER]
        for task, state in zip(over, _OVER, strict=True):
            history = [an_ended_run(task, planned=_LONG_AGO)]
            await store.add([a_new_task(task, status=_ended_status(_LONG_AGO, state), entries=[], runs=history)])
        assert _removed(await _trim(store))[:2] == (3, 3)
        assert (await store.tasks(TaskFilter())).items == ()
        assert await store.find("ada", str(_OVER[0])) is None
        assert await store.check() == ()

    async def test_an_active_or_recently_ended_task_is_not_deleted(self, store: FullStore) -> None:
        active, paused, recent, queued = a_task(), a_task(), a_task(), a_task()
        await store.add(
            [
                a_new_task(active),
                a_new_task(paused, status=TaskStatus(TaskState.PAUSED)),
                a_new_task(recent, status=_ended_status(NOON), entries=[]),
                a_new_task(queued, status=_ended_status(_LONG_AGO), entries=[an_entry(queued, due=NOON + DAY)]),
            ]
        )
        assert _removed(await _trim(store, NOON))[:2] == (0, 0)
        assert len((await store.tasks(TaskFilter())).items) == 4

    async def test_old_events_are_deleted_and_their_numbers_never_reused(self, store: FullStore) -> None:
        task = a_task(created=_LONG_AGO)
        await store.add([a_new_task(task, entries=[an_entry(task, due=NOON + DAY)])])
        events = tuple(an_event(task, at=at) for at in (_LONG_AGO, NOON, NOON + HOUR))
        await store.change(task.id, None, always(Change(events=events)))
        assert _removed(await _trim(store)) == (0, 0, 2)
        assert [numbered.number for numbered in await store.events(0)] == [3, 4]
        assert [numbered.number for numbered in await store.events(3)] == [4]
        await store.change(task.id, None, always(Change(events=events[2:])))
        assert [numbered.number for numbered in await store.events(0)] == [3, 4, 5]
        assert await store.last_event() == 5

    async def test_removed_events_still_count_for_their_owner(self, store: FullStore) -> None:
        ada, bob = (a_task(owner=owner, created=_LONG_AGO) for owner in ("ada", "bob"))
        await store.add([a_new_task(task, entries=[an_entry(task, due=NOON + DAY)]) for task in (ada, bob)])
        for task, instants in ((ada, (_LONG_AGO, _LONG_AGO)), (bob, (_LONG_AGO, NOON)), (ada, (NOON, NOON))):
            events = tuple(an_event(task, at=at) for at in instants)
            await store.change(task.id, None, always(Change(events=events)))
        last = await store.last_event()
        before = await store.owner_event_counts(["ada", "bob"], last)
        assert before == {"ada": 5, "bob": 3}
        await _trim(store)
        assert await store.owner_event_counts(["ada", "bob"], last) == before
        assert await store.owner_event_counts(["ada", "bob"], 0) == {"ada": 3, "bob": 2}
        await store.change(ada.id, None, always(Change(events=(an_event(ada),))))
        assert await store.owner_event_counts(["ada"], last + 1) == {"ada": 6}

    async def test_the_last_event_number_survives_deletion_of_all_events(self, store: FullStore) -> None:
        task = a_task(created=_LONG_AGO)
        await store.add([a_new_task(task, entries=[an_entry(task, due=NOON + DAY)])])
        await _trim(store)
        assert await store.events(0) == ()
        assert await store.last_event() == 1
        await store.change(task.id, None, always(Change(events=(an_event(task),))))
        assert [numbered.number for numbered in await store.events(0)] == [2]

    async def test_trim_batches_respect_the_limit_and_complete_the_work(self, store: FullStore) -> None:
        over = [a_task(created=_LONG_AGO) for _ in range(4)]
        stays = a_task(created=_LONG_AGO)
        await store.add(
            [
                *(a_new_task(each, status=_ended_status(_LONG_AGO), entries=[], runs=_old_runs(each)) for each in over),
                a_new_task(stays, entries=[an_entry(stays, due=NOON + DAY)], runs=_old_runs(stays)),
            ]
        )
        batches = await _trim(store, limit=3)
        assert all(each.runs + each.tasks + each.events <= 3 for each in batches)
        assert _removed(batches) == (25, 4, 5)
        assert [facts.task.id for facts in (await store.tasks(TaskFilter())).items] == [stays.id]
        assert _removed(await _trim(store)) == (0, 0, 0)
        assert await store.check() == ()

    async def test_log_lines_of_deleted_runs_are_deleted(self, store: FullStore) -> None:
        task = a_task()
        old, new = an_ended_run(task, planned=_LONG_AGO), an_ended_run(task, planned=NOON)
        await store.add([a_new_task(task, runs=[old, new])])
        await store.write_lines([Line(run.id, NOON, "info", "hello") for run in (old, new)])
        await _trim(store)
        assert await store.lines(old.id) == ()
        assert len(await store.lines(new.id)) == 1

    async def test_long_logs_of_deleted_runs_are_deleted(self, store: FullStore) -> None:
        """A store may delete them in several transactions."""
        task = a_task()
        old = [an_ended_run(task, planned=_LONG_AGO + number * DAY) for number in range(3)]
        new = an_ended_run(task, planned=NOON)
        await store.add([a_new_task(task, runs=[*old, new])])
        for run, number in zip((*old, new), (12_000, 4_000, 2_000, 1), strict=True):
            await store.write_lines([Line(run.id, NOON, "info", "hello")] * number)
        assert _removed(await _trim(store))[0] == len(old)
        assert [await store.last_line(run.id) for run in (*old, new)] == [0, 0, 0, 1]

    async def test_the_age_of_a_run_is_that_of_its_end_not_of_its_planned_instant(self, store: FullStore) -> None:
        task = a_task()
        backfilled = an_ended_run(task, planned=_LONG_AGO, ended=NOON)
        await store.add([a_new_task(task, runs=[backfilled])])
        await _trim(store)
        assert await _remaining(store, task) == [backfilled]

    async def test_an_ended_task_stays_as_long_as_one_of_its_runs(self, store: FullStore) -> None:
        task = a_task()
        runs = [an_ended_run(task, planned=_LONG_AGO), an_ended_run(task, planned=NOON, origin=Origin.MANUAL)]
        await store.add([a_new_task(task, status=_ended_status(_LONG_AGO), entries=[], runs=runs)])
        assert _removed(await _trim(store))[:2] == (1, 0)
        assert await _remaining(store, task) == runs[1:]
        assert _removed(await _trim(store, NOON + DAY))[:2] == (1, 1)

    async def test_a_trim_resumed_from_a_cursor_finds_later_rows(self, store: FullStore) -> None:
        """By age for all rows; by count for tasks whose runs have events after the cursor."""
        busy, idle = a_task(), a_task()
        first, others = _daily_runs(busy, NOON, 5), _daily_runs(idle, NOON, 3)
        await store.add([a_new_task(busy, runs=first), a_new_task(idle, runs=others)])
        batches = await _trim(store, _LONG_AGO, keep_runs=3)
        assert _removed(batches) == (2, 0, 0)
        later = _daily_runs(busy, NOON + 5 * DAY, 2)
        await store.change(busy.id, None, always(Change(new_runs=tuple(later), events=tuple(map(_event_of, later)))))
        async with self.another(store) as other:
            batches = await _trim(other, _LONG_AGO, keep_runs=3, since=batches[-1].after)
        assert _removed(batches) == (2, 0, 0)
        assert await _remaining(store, busy) == [*later[::-1], first[-1]]
        batches = await _trim(store, NOON + DAY, keep_runs=3, since=batches[-1].after)
        assert _removed(batches)[0] == 1, "the first run of the idle task is older than the cutoff now"
        assert await _remaining(store, idle) == others[:0:-1]

    async def test_a_trim_with_nothing_to_delete_is_one_batch(self, store: FullStore) -> None:
        (batch,) = await _trim(store)
        assert batch._replace(after=None) == TrimResult()


_LIVE = (RunState.CLAIMED, RunState.RUNNING, RunState.WAITING)
_OVER = (TaskState.COMPLETED, TaskState.CANCELLED, TaskState.FAILED)


def _old_runs(task: Task) -> list[Run]:
    return [an_ended_run(task, planned=_LONG_AGO + place * HOUR) for place in range(5)]
