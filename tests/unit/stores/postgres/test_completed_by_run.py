"""Tasks that an ordinary success completed: written in place, found by their run, and removed with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from horae.lifecycle.settle import settle
from horae.model.change import Change, Facts
from horae.model.outcome import Succeeded
from horae.model.task import Task, TaskState
from horae.ports.store import TaskFilter
from horae.stores.named_sql import read_migrations
from horae.stores.postgres import PostgresStore, migrate
from horae.testing.contracts.stores.setup import add_tasks
from horae.testing.factories import DAY, NODE, NOON, a_node
from tests.servers.postgres import PostgresServer
from tests.unit.stores.polling import wait_until
from tests.unit.stores.postgres.ordinary_tasks import decide, once_tasks, settlement
from tests.unit.stores.postgres.store_setup import new_schema, open_connection, open_store
from tests.unit.stores.postgres.test_migrate import only_migrated

MANY: Final = 200
BEFORE: Final = 15
"""The last schema in which the status of a task was indexed by its state."""
STATUS_UPDATES: Final = """
SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_all_tables
WHERE schemaname = current_schema() AND relname = 'task_state'
"""


async def complete(store: PostgresStore, *tasks: Task) -> None:
    """Run tasks that are due once."""
    await store.join(a_node())
    await add_tasks(store, *tasks)
    claimed = 0
    while claimed < len(tasks):
        runs = (await store.claim_due(NOON, NODE, len(tasks), decide)).runs
        reports = [settlement(each, place, Succeeded(None)) for place, each in enumerate(runs)]
        assert await store.settle(reports, settle) == frozenset()
        claimed += len(runs)


async def ids_in_state(store: PostgresStore, *states: TaskState) -> list[str]:
    return [each.task.id for each in (await store.tasks(TaskFilter(states=frozenset(states)))).items]


def ids_of(tasks: list[Task]) -> list[str]:
    return [task.id for task in tasks]


def put_state(state: TaskState) -> Callable[[Facts | None], Change]:
    def change(facts: Facts | None) -> Change:
        assert facts is not None
        return Change(status=facts.status._replace(state=state, ended=NOON if state is not TaskState.ACTIVE else None))

    return change


async def test_start_and_success_change_the_status_in_place(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await complete(store, *once_tasks(MANY))
        schema = store.address.schema
    async with open_store(f"{postgres_server.url}?schema={schema}") as reader, open_connection(reader) as connection:

        async def are_counted() -> bool:
            await connection.execute("SELECT pg_stat_clear_snapshot()")
            return bool(await connection.fetchval(STATUS_UPDATES) >= 2 * MANY)

        await wait_until(are_counted)
        assert [tuple(row) for row in await connection.fetch(STATUS_UPDATES)] == [(2 * MANY, 2 * MANY)]


@pytest.mark.parametrize("count", [1, MANY])
async def test_completed_tasks_are_listed(postgres_server: PostgresServer, count: int) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        tasks = once_tasks(count)
        await complete(store, *tasks)
        await add_tasks(store, *once_tasks(3))
        assert (await ids_in_state(store, TaskState.COMPLETED))[:100] == ids_of(tasks)[:100]
        assert await ids_in_state(store, TaskState.CANCELLED) == []
        assert await store.check() == ()


async def test_task_that_outlives_its_run_is_listed(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        tasks = once_tasks(5)
        await complete(store, *tasks)
        trimmed = await store.trim(NOON - DAY, 0, 100)
        assert (trimmed.runs, trimmed.tasks) == (5, 0)
        assert await ids_in_state(store, TaskState.COMPLETED) == ids_of(tasks)
        assert await store.check() == ()


async def test_task_is_removed_with_the_run_that_completed_it(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        await complete(store, *once_tasks(5))
        first = await store.trim(NOON + DAY, 100, 6)
        assert (first.runs, first.tasks, first.more) == (3, 3, True)
        second = await store.trim(NOON + DAY, 100, 1)
        assert (second.runs, second.tasks) == (1, 0), "a batch of one row"
        assert len(await ids_in_state(store, TaskState.COMPLETED)) == 2
        assert await store.check() == ()
        third = await store.trim(NOON + DAY, 100, 100)
        assert (third.runs, third.tasks) == (1, 2)
        assert await ids_in_state(store, TaskState.COMPLETED) == []


async def test_resumed_task_leaves_the_list_and_returns(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store:
        (task, other) = tasks = once_tasks(2)
        await complete(store, *tasks)
        await store.change(task.id, None, put_state(TaskState.ACTIVE))
        assert await ids_in_state(store, TaskState.COMPLETED) == [other.id]
        await store.change(task.id, None, put_state(TaskState.COMPLETED))
        assert await ids_in_state(store, TaskState.COMPLETED) == [task.id, other.id], "listed once"


async def test_check_reports_a_task_whose_run_is_gone(postgres_server: PostgresServer) -> None:
    async with open_store(new_schema(postgres_server)) as store, open_connection(store) as connection:
        (task,) = tasks = once_tasks(1)
        await complete(store, *tasks)
        await connection.execute("DELETE FROM runs")
        assert await store.check() == (f"The run that completed the task {task.id} is not in the ledger.",)


FILL: Final = """
INSERT INTO {schema}.tasks SELECT n, 'tsk_' || n, 'ada', 'name', '{{"kind":"once","at":"2026-03-01T12:00:00Z"}}', 'function', '{{}}',
  '{{}}', '{{}}', n, NULL, NULL, '[]', 1 FROM generate_series(1, 6) AS n;
INSERT INTO {schema}.task_state (task, version, state, counted, failures, skips_left, ended, pause_cause) VALUES
  (1, 1, 'active', 0, 0, 0, NULL, NULL), (2, 1, 'active', 0, 2, 0, NULL, NULL), (3, 1, 'paused', 0, 0, 0, NULL, 'requested'),
  (4, 1, 'failed', 0, 1, 0, 1, NULL), (5, 1, 'completed', 0, 0, 0, 1, NULL), (6, 1, 'cancelled', 0, 0, 0, 1, NULL);
"""
LISTED: Final = "SELECT task, listed_state, listed_end FROM task_state ORDER BY task"


async def test_tasks_of_the_schema_before_are_listed(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, steps = new_schema(postgres_server), read_migrations("horae.stores.postgres")
    with monkeypatch.context() as as_it_was:
        as_it_was.setattr(migrate, "read_migrations", lambda _: steps[:BEFORE])
        await only_migrated(url, monkeypatch)
    postgres_server.ask(FILL.format(schema=PostgresStore(url).address.schema))
    async with open_store(url) as store, open_connection(store) as connection:
        listed: list[Any] = [tuple(row) for row in await connection.fetch(LISTED)]
        assert listed == [
            (1, None, None),
            (2, "failing", None),
            (3, "paused", None),
            (4, "failed", 1),
            (5, "completed", 1),
            (6, "cancelled", 1),
        ]
        # Retention finds those that had ended before the upgrade.
        assert (await store.trim(NOON, 100, 100)).tasks == 3
