"""Contract of the run list: newest first, filters, pages that are stable while runs are added."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from datetime import datetime

from .....model.change import Change
from .....model.reason import Reason
from .....model.run import LIVE_STATES, Origin, Run, RunState, Span
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import RunFilter
from ....decisions import always
from ....factories import DAY, HOUR, MICROSECOND, MINUTE, NOON, a_new_task, a_run, a_task, an_ended_run
from ..contract import Contract

_ALL = RunFilter()


async def _listed(store: FullStore, wanted: RunFilter = _ALL, size: int = 100) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = await store.runs(wanted, after, size)
        found.extend(run.id for run in page.items)
        if (after := page.after) is None:
            return found


async def _with_history(store: FullStore, task: Task, *planned: datetime) -> list[Run]:
    runs = [an_ended_run(task, planned=each) for each in planned]
    await store.add([a_new_task(task, runs=runs)])
    return runs


def _ids(*runs: Run) -> list[str]:
    return [run.id for run in runs]


class LedgerContract(Contract):
    async def test_runs_are_listed_newest_planned_first(self, store: FullStore) -> None:
        days = [NOON + place * DAY for place in (2, 0, 3, 1)]
        runs = await _with_history(store, a_task(), *days)
        newest_first = sorted(runs, key=lambda run: run.planned, reverse=True)
        assert await _listed(store) == _ids(*newest_first)

    async def test_runs_a_microsecond_apart_are_in_order(self, store: FullStore) -> None:
        runs = await _with_history(store, a_task(), *(NOON + place * MICROSECOND for place in range(5)))
        assert await _listed(store, size=2) == _ids(*reversed(runs))

    async def test_many_runs_of_one_instant_are_listed_once_each(self, store: FullStore) -> None:
        tasks = [a_task() for _ in range(7)]
        runs = [an_ended_run(task, attempt=attempt) for task in tasks for attempt in (1, 2)]
        await store.add([a_new_task(task, runs=[run for run in runs if run.task_id == task.id]) for task in tasks])
        assert sorted(await _listed(store, size=3)) == sorted(_ids(*runs))

    async def test_pages_are_stable_while_runs_are_added(self, store: FullStore) -> None:
        task = a_task()
        runs = await _with_history(store, task, *(NOON + place * HOUR for place in range(6)))
        first = await store.runs(RunFilter(task_id=task.id), None, 3)
        newer = an_ended_run(task, planned=NOON + DAY)
        await store.change(task.id, None, always(Change(new_runs=(newer,))))
        second = await store.runs(RunFilter(task_id=task.id), first.after, 3)
        assert _ids(*first.items, *second.items) == _ids(*reversed(runs))
        assert second.after is None

    async def test_a_page_may_be_read_again(self, store: FullStore) -> None:
        await _with_history(store, a_task(), *(NOON + place * HOUR for place in range(6)))
        first = await store.runs(RunFilter(), None, 2)
        assert await store.runs(RunFilter(), first.after, 2) == await store.runs(RunFilter(), first.after, 2)

    async def test_run_filters_narrow_and_combine(self, store: FullStore) -> None:
        task, other = a_task(), a_task(owner="bob")
        won = an_ended_run(task)
        lost = an_ended_run(task, planned=NOON + HOUR, state=RunState.LOST, reason=Reason.LEASE_LOST)
        live = a_run(task, planned=NOON + 2 * HOUR)
        foreign = an_ended_run(other, planned=NOON + 3 * HOUR)
        await store.add([a_new_task(task, runs=[won, lost, live]), a_new_task(other, runs=[foreign])])
        assert await _listed(store, RunFilter(owner="ada")) == _ids(live, lost, won)
        assert await _listed(store, RunFilter(owner="unknown")) == []
        assert await _listed(store, RunFilter(task_id=other.id)) == _ids(foreign)
        assert await _listed(store, RunFilter(task_id=other.id, owner="ada")) == []
        succeeded = frozenset({RunState.SUCCEEDED})
        assert await _listed(store, RunFilter(states=succeeded)) == _ids(foreign, won)
        assert await _listed(store, RunFilter(states=succeeded, owner="ada")) == _ids(won)
        assert await _listed(store, RunFilter(states=frozenset())) == []

    async def test_filters_by_state_combine_with_all_other_filters(self, store: FullStore) -> None:
        """Sets of live and failed states, combined with owner, task and time window."""
        tasks = [a_task(), a_task(owner="bob"), a_task()]
        runs = [
            a_run(task, planned=NOON + (7 * place + turn) * MINUTE, state=state)._replace(
                ended=None if state in LIVE_STATES else NOON + DAY
            )
            for place, task in enumerate(tasks)
            for turn, state in enumerate(RunState)
        ]
        await store.add([a_new_task(task, runs=[run for run in runs if run.task_id == task.id]) for task in tasks])
        newest = sorted(runs, key=lambda run: (run.planned, run.attempt, run.id), reverse=True)
        troubled = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})
        for states in (
            LIVE_STATES,
            frozenset({RunState.WAITING}),
            troubled,
            frozenset({RunState.LOST}),
            troubled | LIVE_STATES,
        ):
            for owner in (None, "ada", "bob"):
                for task_id in (None, tasks[0].id):
                    for since in (None, NOON + 5 * MINUTE):
                        wanted = RunFilter(owner, task_id, states, since)
                        assert await _listed(store, wanted, size=2) == [
                            run.id
                            for run in newest
                            if run.state in states
                            and owner in (None, run.owner)
                            and task_id in (None, run.task_id)
                            and (since is None or run.planned >= since)
                        ]

    async def test_a_window_includes_both_its_ends(self, store: FullStore) -> None:
        first, second, third = await _with_history(store, a_task(), NOON, NOON + HOUR, NOON + 2 * HOUR)
        assert await _listed(store, RunFilter(since=NOON + HOUR)) == _ids(third, second)
        assert await _listed(store, RunFilter(since=NOON + HOUR + MICROSECOND)) == _ids(third)
        assert await _listed(store, RunFilter(until=NOON + HOUR)) == _ids(second, first)
        assert await _listed(store, RunFilter(until=NOON + HOUR - MICROSECOND)) == _ids(first)
        assert await _listed(store, RunFilter(since=NOON + HOUR, until=NOON + HOUR)) == _ids(second)

    async def test_a_span_is_in_every_window_that_it_touches(self, store: FullStore) -> None:
        task = a_task()
        span = Span(NOON, NOON + HOUR, 61)
        stretch = an_ended_run(task, planned=span.last, state=RunState.SKIPPED, reason=Reason.PAUSED, span=span)
        await store.add([a_new_task(task, runs=[stretch])])
        inside = NOON + 30 * MINUTE
        assert await _listed(store, RunFilter(since=inside, until=inside)) == [stretch.id]
        assert await _listed(store, RunFilter(since=NOON + HOUR)) == [stretch.id]
        assert await _listed(store, RunFilter(until=NOON)) == [stretch.id]
        assert await _listed(store, RunFilter(since=NOON + HOUR + MICROSECOND)) == []
        assert await _listed(store, RunFilter(until=NOON - MICROSECOND)) == []

    async def test_a_window_is_paged_from_later_spans_to_its_own_runs(self, store: FullStore) -> None:
        task, other = a_task(), a_task()
        until = NOON + HOUR
        spans = [Span(NOON, until + number * MINUTE, 61 + number) for number in (1, 2)]
        late = [
            an_ended_run(task, planned=span.last, state=RunState.SKIPPED, reason=Reason.PAUSED, span=span)
            for span in spans
        ]
        runs = [an_ended_run(task, planned=NOON + number * MINUTE) for number in (0, 1, 60, 63)]
        await store.add([a_new_task(task, runs=[*runs, *late])])
        await _with_history(store, other, NOON + 30 * MINUTE)
        wanted = _ids(late[1], late[0], runs[2], runs[1], runs[0])
        for size in (1, 2, 10):
            assert await _listed(store, RunFilter(task_id=task.id, until=until), size) == wanted
        assert await _listed(store, RunFilter(task_id=task.id, since=until, until=until)) == wanted[:3]
        succeeded = frozenset({RunState.SUCCEEDED})
        assert await _listed(store, RunFilter(task_id=task.id, states=succeeded, until=until)) == wanted[2:]
        assert await _listed(store, RunFilter(states=frozenset({RunState.SKIPPED}), until=NOON)) == wanted[:2]
        assert len(await _listed(store, RunFilter(until=until))) == len(wanted) + 1

    async def test_runs_of_one_instant_differ_by_origin_and_attempt(self, store: FullStore) -> None:
        task = a_task()
        runs = [an_ended_run(task, attempt=attempt, origin=origin) for origin in Origin for attempt in (1, 2)]
        await store.add([a_new_task(task, runs=runs)])
        assert len(await _listed(store)) == len(runs) == 8
        for run in runs:
            assert await store.run(run.id, "ada") == run
