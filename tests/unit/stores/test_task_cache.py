"""Task cache: an entry is not used after another process has changed its task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from horae.model.change import Change, Facts
from horae.model.outcome import Settlement
from horae.model.reason import Reason
from horae.model.run import Origin, Run, RunState
from horae.model.task import TaskStatus
from horae.stores.sqlite import SQLiteStore
from horae.stores.task_cache import CachedTask, TaskCache, apply_change
from horae.testing.contracts.stores.setup import add_tasks, claim, get_facts, settle, start_run
from horae.testing.decisions import always, decide_start, request_cancel, succeed
from horae.testing.factories import HOUR, NOON, SECOND, a_node, a_run, a_task, an_ended_run
from tests.unit.stores.sqlite.store_setup import open_store


@asynccontextmanager
async def two_stores(folder: Path) -> AsyncIterator[tuple[SQLiteStore, SQLiteStore]]:
    """Open two stores on one file, as two processes do."""
    path = folder / "horae.db"
    async with open_store(path) as first, open_store(path) as second:
        yield first, second


def record_decisions(decided: list[tuple[Facts, Run]]) -> Callable[[Facts, Run, Settlement], Change]:
    def decide(facts: Facts, run: Run, report: Settlement) -> Change:
        decided.append((facts, run))
        return succeed(facts, run, report)

    return decide


async def test_edit_by_another_process_invalidates_the_cache(tmp_path: Path) -> None:
    async with two_stores(tmp_path) as (first, second):
        task = a_task()
        run = await start_run(first, task)
        # This edit does not change the version.
        await second.change(task.id, None, always(Change(task=task._replace(name="water the cactus"))))
        decided: list[tuple[Facts, Run]] = []
        await settle(first, run, decide=record_decisions(decided))
        assert decided[0][0].task.name == "water the cactus"


async def test_cancel_by_another_process_invalidates_the_cache(tmp_path: Path) -> None:
    async with two_stores(tmp_path) as (first, second):
        run = await start_run(first)
        await second.change(run.task_id, None, request_cancel([run], Reason.QUOTA))
        decided: list[tuple[Facts, Run]] = []
        await settle(first, run, decide=record_decisions(decided))
        assert decided[0][1].cancel is Reason.QUOTA
        assert decided[0][0].live[0].cancel is Reason.QUOTA


async def test_status_written_by_another_process_invalidates_the_cache(tmp_path: Path) -> None:
    async with two_stores(tmp_path) as (first, second):
        run = await start_run(first)
        await second.change(run.task_id, None, always(Change(status=TaskStatus(failures=7))))
        decided: list[tuple[Facts, Run]] = []
        await settle(first, run, decide=record_decisions(decided))
        assert decided[0][0].status.failures == 7


async def test_start_by_another_process_invalidates_the_cache(tmp_path: Path) -> None:
    async with two_stores(tmp_path) as (first, second):
        run = await start_run(first, decide=decide_start(state=RunState.CLAIMED))
        assert await second.start([(run.id, run.token)], NOON + SECOND) == {run.id}
        decided: list[tuple[Facts, Run]] = []
        await settle(first, run, decide=record_decisions(decided))
        assert (decided[0][1].state, decided[0][1].started) == (RunState.RUNNING, NOON + SECOND)


async def test_run_ended_or_deleted_by_another_process_is_stale(tmp_path: Path) -> None:
    async with two_stores(tmp_path) as (first, second):
        ended = await start_run(first)
        assert await settle(second, ended) == frozenset()
        deleted = await start_run(first)
        await second.change(deleted.task_id, None, always(Change(deleted=True)))
        assert await settle(first, ended, deleted) == {ended.id, deleted.id}


async def test_recurring_task_is_claimed_and_settled_by_two_processes(tmp_path: Path) -> None:
    async with two_stores(tmp_path) as (first, second):
        await first.join(a_node())
        task = a_task()
        await add_tasks(first, task)
        for place in range(3):
            now = NOON + place * HOUR
            for store in (first, second):
                claimed = (await claim(store, now, decide_start(at=now, again=HOUR / 2))).runs
                if claimed:
                    assert await settle(store, claimed[0].run) == frozenset()
        assert (await get_facts(first, task)).entries[0].due == NOON + 2 * HOUR + HOUR / 2
        assert await first.check() == ()


def test_cache_size_is_bounded() -> None:
    cache = TaskCache()
    task = a_task()
    for number in range(3 * TaskCache._MAX_TASKS):
        cache.update({number: CachedTask(number, 1, task, TaskStatus(), (a_run(task),))})
    assert len(cache._entries) <= TaskCache._MAX_TASKS
    heavy = a_task(payload="x" * (TaskCache._MAX_CHARACTERS // 10))
    for number in range(100):
        cache.update({number: CachedTask(number, 1, heavy, TaskStatus())})
    assert len(cache._entries) <= 11


def test_apply_change_gives_the_written_state() -> None:
    task = a_task()
    live = [a_run(task, planned=NOON + place * HOUR) for place in range(3)]
    known = CachedTask(5, 1, task, TaskStatus(), tuple(live))
    new, skipped = a_run(task, planned=NOON - HOUR), an_ended_run(task, planned=NOON - 2 * HOUR)
    change = Change(
        status=TaskStatus(counted=1),
        new_runs=(skipped, new),
        updated_runs=(live[1]._replace(state=RunState.SUCCEEDED),),
        cancelled=((live[2].id, Reason.CANCELLED),),
    )
    expected = CachedTask(5, 2, task, TaskStatus(counted=1), (new, live[0], live[2]._replace(cancel=Reason.CANCELLED)))
    assert apply_change(known, change) == expected


def test_apply_change_tracks_first_and_last_live_run() -> None:
    task = a_task()
    run = a_run(task)
    known = CachedTask(5, 1, task, TaskStatus())
    live = apply_change(known, Change(new_runs=(run,)))
    assert live == CachedTask(5, 2, task, TaskStatus(), (run,))
    assert apply_change(known, Change(new_runs=(an_ended_run(task),))) == CachedTask(5, 2, task, TaskStatus())
    assert apply_change(live, Change(updated_runs=(an_ended_run(task),))) == CachedTask(5, 3, task, TaskStatus())
    waiting = run._replace(state=RunState.WAITING)
    assert apply_change(live, Change(updated_runs=(waiting,))) == CachedTask(5, 3, task, TaskStatus(), (waiting,))


def test_runs_whose_end_is_never_ordinary_are_known_until_they_end() -> None:
    cache, plain, laned = TaskCache(), a_task(), a_task(lane="press")
    followed = a_task(successors=("tsk_next",))
    runs = {task.id: a_run(task) for task in (plain, laned, followed)}
    tasks = {
        number: CachedTask(number, 1, task, TaskStatus(), (runs[task.id],))
        for number, task in enumerate((plain, laned, followed), start=1)
    }
    cache.update(tasks)
    ids = [run.id for run in runs.values()]
    assert cache.never_ordinary_runs(ids) == {runs[laned.id].id, runs[followed.id].id}
    cache.update({2: tasks[2]._replace(live=()), 3: None})
    assert not cache.never_ordinary_runs(ids)


def test_several_runs_of_one_task_are_settled_together() -> None:
    cache, task = TaskCache(), a_task()
    first, manual = a_run(task), a_run(task, origin=Origin.MANUAL)._replace(id="run_manual")
    cache.update({1: CachedTask(1, 1, task, TaskStatus(), (first, manual))})
    assert cache.never_ordinary_runs([first.id, manual.id]) == {first.id, manual.id}
    cache.update({1: CachedTask(1, 2, task, TaskStatus(), (first,))})
    assert not cache.never_ordinary_runs([first.id, manual.id])
