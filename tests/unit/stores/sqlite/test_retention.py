"""Retention costs next to nothing where nothing happens, and stays in small batches where much does."""

from __future__ import annotations

from pathlib import Path

from horae.model.change import Change
from horae.model.events.event import Event, EventKind
from horae.model.run import Run
from horae.model.task import Task, TaskState, TaskStatus
from horae.ports.store import RunFilter
from horae.stores.sql import upkeep
from horae.stores.sqlite import SQLiteStore
from horae.testing.decisions import always
from horae.testing.factories import DAY, NOON, SECOND, a_new_task, a_task, an_ended_run
from tests.unit.stores.sqlite.opening import new_store

LIMIT = 50
KEEP = 10


async def trim(store: SQLiteStore, after: str | None, before: int = 100) -> str | None:
    """Until there is no more to remove; where the last batch ended."""
    while True:
        trimmed = await store.trim(NOON - before * DAY, KEEP, LIMIT, after)
        after = trimmed.after
        if not trimmed.more:
            return after


async def tell(store: SQLiteStore, task: Task, *runs: Run) -> None:
    told = tuple(Event(EventKind.RUN_SUCCEEDED, NOON, run.owner, task.id, run.id) for run in runs)
    await store.change(task.id, None, always(Change(new_runs=runs, events=told)))


def runs_of(task: Task, count: int, first: int = 0) -> list[Run]:
    return [an_ended_run(task, planned=NOON + (first + n) * SECOND) for n in range(count)]


async def test_a_look_at_a_store_where_nothing_happened_is_one_statement(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_new_task(a_task()) for _ in range(10 * LIMIT)])
        after = await trim(store, None)
        statements, transactions = store.statements, store.transactions
        for _ in range(3):
            after = await trim(store, after)
        assert (store.statements, store.transactions) == (statements + 3, transactions)


async def test_what_it_costs_depends_on_what_ran_and_not_on_how_many_tasks_there_are(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        busy = a_task()
        await store.add([a_new_task(busy), *(a_new_task(a_task()) for _ in range(20 * LIMIT))])
        after = await trim(store, None)
        await tell(store, busy, *runs_of(busy, KEEP + 3))
        statements = store.statements
        await trim(store, after)
        assert store.statements - statements < 30
        assert await kept(store, busy) == KEEP


async def test_more_than_a_batch_can_tell_is_walked_through(tmp_path: Path) -> None:
    """Windows of events that end within a task's, batches that end within a window."""

    assert upkeep._TASK_BATCH < 40
    assert upkeep._EVENT_BATCH < 40 * 35
    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(40)]
        await store.add([a_new_task(task, runs=runs_of(task, KEEP + 2)) for task in tasks])
        after = await trim(store, None)
        assert [await kept(store, task) for task in tasks] == [KEEP] * 40
        for task in tasks:
            await tell(store, task, *runs_of(task, 35, KEEP + 2))
        await trim(store, after)
        assert [await kept(store, task) for task in tasks] == [KEEP] * 40


async def test_a_task_that_was_woken_up_meanwhile_stays(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        task = a_task()
        over = TaskStatus(TaskState.COMPLETED, ended=NOON - 200 * DAY)
        await store.add([a_new_task(task, status=over, entries=[])])
        found = await upkeep.RetentionScan(store._database, NOON, KEEP, LIMIT).find(None)
        assert len(found.tasks) == 1
        await store.change(task.id, None, always(Change(status=TaskStatus())))
        removed = await store._database.transact(lambda link: upkeep.remove_rows(link, found, NOON))
        assert removed.tasks == 0
        assert await store.facts(task.id, None) is not None


async def kept(store: SQLiteStore, task: Task) -> int:
    return len((await store.runs(RunFilter(task_id=task.id))).items)
