"""Retention on SQLite: one statement when nothing happened, small batches otherwise."""

from __future__ import annotations

from pathlib import Path

from horae.model.change import Change
from horae.model.events.event import Event, EventKind
from horae.model.run import Run
from horae.model.task import Task, TaskState, TaskStatus
from horae.ports.store import RunFilter
from horae.stores.sqlite import SQLiteStore, upkeep
from horae.testing.decisions import always
from horae.testing.factories import DAY, NOON, SECOND, a_new_task, a_task, an_ended_run
from tests.unit.stores.sqlite.store_setup import new_store

LIMIT = 50
KEEP = 10


async def trim(store: SQLiteStore, after: str | None, before: int = 100) -> str | None:
    """Trim until nothing is left to remove; return the last cursor."""
    while True:
        trimmed = await store.trim(NOON - before * DAY, KEEP, LIMIT, after)
        after = trimmed.after
        if not trimmed.more:
            return after


async def add_events(store: SQLiteStore, task: Task, *runs: Run) -> None:
    events = tuple(Event(EventKind.RUN_SUCCEEDED, NOON, run.owner, task.id, run.id) for run in runs)
    await store.change(task.id, None, always(Change(new_runs=runs, events=events)))


def runs_of(task: Task, count: int, first: int = 0) -> list[Run]:
    return [an_ended_run(task, planned=NOON + (first + n) * SECOND) for n in range(count)]


async def test_trim_without_new_events_is_one_statement(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.add([a_new_task(a_task()) for _ in range(10 * LIMIT)])
        after = await trim(store, None)
        statements, transactions = store.statements, store.transactions
        for _ in range(3):
            after = await trim(store, after)
        assert (store.statements, store.transactions) == (statements + 3, transactions)


async def test_trim_cost_depends_on_runs_and_not_on_tasks(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        busy = a_task()
        await store.add([a_new_task(busy), *(a_new_task(a_task()) for _ in range(20 * LIMIT))])
        after = await trim(store, None)
        await add_events(store, busy, *runs_of(busy, KEEP + 3))
        statements = store.statements
        await trim(store, after)
        assert store.statements - statements < 30
        assert await count_stored(store, busy) == KEEP


async def test_trim_continues_over_several_batches(tmp_path: Path) -> None:
    """Event windows end within a task, and batches end within a window."""

    assert upkeep._TASK_BATCH < 40
    assert upkeep._EVENT_BATCH < 40 * 35
    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(40)]
        await store.add([a_new_task(task, runs=runs_of(task, KEEP + 2)) for task in tasks])
        after = await trim(store, None)
        assert [await count_stored(store, task) for task in tasks] == [KEEP] * 40
        for task in tasks:
            await add_events(store, task, *runs_of(task, 35, KEEP + 2))
        await trim(store, after)
        assert [await count_stored(store, task) for task in tasks] == [KEEP] * 40


async def test_task_resumed_during_trim_is_kept(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        task = a_task()
        over = TaskStatus(TaskState.COMPLETED, ended=NOON - 200 * DAY)
        await store.add([a_new_task(task, status=over, entries=[])])
        found = await upkeep.RetentionScan(store._readers, NOON, KEEP, LIMIT).find(None)
        assert len(found.tasks) == 1
        await store.change(task.id, None, always(Change(status=TaskStatus())))
        removed = await store._writer.submit(lambda link: upkeep.remove_rows(link, found, NOON))
        assert removed.tasks == 0
        assert await store.facts(task.id, None) is not None


async def count_stored(store: SQLiteStore, task: Task) -> int:
    return len((await store.runs(RunFilter(task_id=task.id))).items)
