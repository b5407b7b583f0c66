"""Upgrade of SQLite files of schema 2: tasks are kept, and the new counters equal a recount."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from horae.model.counts import LATENESS_PREFIX, NO_HOUR, OUTCOME_PREFIX, RETAINED_HOURS, STATE_PREFIX, hour_of
from horae.model.task import TaskState, TaskStatus
from horae.ports.records import Record
from horae.ports.store import TaskFilter
from horae.stores.sqlite.migrate import APPLICATION_ID, migrations
from horae.testing.contracts.stores.setup import add_tasks, start_run
from horae.testing.decisions import always, lose
from horae.testing.factories import HOUR, NODE, NOON, a_new_task, a_node, a_task, an_ended_run
from tests.unit.stores.schema_upgrade import copy_statement
from tests.unit.stores.sqlite.store_setup import open_store

LABELS: tuple[tuple[tuple[str, str], ...], ...] = ((), (("room", "a"),), (("Straße", '"\\'), ("room", "a")))
STATES = [*TaskState] * 3 + [TaskState.FAILED]


def downgrade_to_schema_two(path: Path) -> None:
    """Rewrite the file with the same rows in the schema without counters."""
    newer = path.rename(path.with_suffix(".newer"))
    connection = apsw.Connection(str(path))
    for _, script in migrations()[:2]:
        connection.execute(script)
    connection.execute("ATTACH ? AS newer", (str(newer),))
    connection.execute("DELETE FROM tokens")
    tables = connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        columns = [str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        connection.execute(copy_statement(str(table), columns, "main.", "newer."))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 2")
    connection.close()
    newer.unlink()


@pytest.fixture
async def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "horae.db"
    async with open_store(path) as store:
        changes = [
            a_new_task(
                a_task(owner="bob" if place % 4 == 0 else "ada", labels=LABELS[place % 3]),
                status=TaskStatus(state, ended=NOON),
            )
            for place, state in enumerate(STATES)
        ]
        await store.add(changes)
    downgrade_to_schema_two(path)
    return path


async def test_upgrade_counts_the_tasks_of_an_older_file(old_file: Path) -> None:
    async with open_store(old_file) as store:
        for owner in (None, "ada", "bob"):
            mine = [s for place, s in enumerate(STATES) if owner in (None, "bob" if place % 4 == 0 else "ada")]
            counts = await store.counts(owner, [NO_HOUR])
            assert counts == {
                (NO_HOUR, STATE_PREFIX + state): mine.count(state) for state in TaskState if state in mine
            }
        assert await store.check() == ()
    assert apsw.Connection(str(old_file)).execute("PRAGMA user_version").fetchall() == [(len(migrations()),)]


async def test_upgraded_file_keeps_counting_and_finds_its_tasks(old_file: Path) -> None:
    async with open_store(old_file) as store:
        await add_tasks(store, a_task(), a_task())
        failed = await store.tasks(TaskFilter(states=frozenset({TaskState.FAILED})))
        assert len(failed.items) == STATES.count(TaskState.FAILED)
        for label, places in (("room", (1, 2)), ("Straße", (2,))):
            (pair,) = [each for each in LABELS[2] if each[0] == label]
            found = await store.tasks(TaskFilter(labels=(pair,)))
            assert len(found.items) == sum(place % 3 in places for place in range(len(STATES)))
        gone = failed.items[0].task
        await store.change(gone.id, None, always(a_new_task(gone)._replace(deleted=True)))
        counts = await store.counts(None, [NO_HOUR])
        assert counts[NO_HOUR, STATE_PREFIX + "active"] == STATES.count(TaskState.ACTIVE) + 2
        assert counts[NO_HOUR, STATE_PREFIX + "failed"] == STATES.count(TaskState.FAILED) - 1
        assert await store.check() == ()


async def test_nodes_of_an_older_file_keep_their_runs(tmp_path: Path) -> None:
    """Without the node rows nothing would tell which node holds which run."""
    path = tmp_path / "horae.db"
    async with open_store(path) as store:
        await start_run(store)
    downgrade_to_schema_two(path)
    async with open_store(path) as store:
        assert await store.nodes() == (a_node(),)
        assert await store.recover(NODE, 0, lose, 10) == 1
        assert await store.nodes() == ()


async def test_records_of_an_older_file_do_not_expire(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    old = Record("token", "old", "ada", '"kept"')
    async with open_store(path) as store:
        assert await store.put_record(old, replacing=None)
    downgrade_to_schema_two(path)
    async with open_store(path) as store:
        assert await store.put_record(old._replace(key="new", expires=NOON), replacing=None)
        assert await store.drop_expired(NOON, 10) == 1
        assert (await store.records("token", "ada")).items == (old,)


async def test_reopening_counts_nothing_twice(old_file: Path) -> None:
    for _ in range(2):
        async with open_store(old_file) as store:
            counts = await store.counts(None, [NO_HOUR])
            assert sum(counts.values()) == len(STATES)


async def test_empty_file_of_schema_two_has_no_counts(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    async with open_store(path) as store:
        assert await store.counts(None, [NO_HOUR]) == {}
    downgrade_to_schema_two(path)
    async with open_store(path) as store:
        assert await store.counts(None, [NO_HOUR]) == {}


async def test_check_reports_wrong_counts(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"

    async with open_store(path) as store:
        await add_tasks(store, a_task())
        with apsw.Connection(str(path)) as connection:
            connection.execute("UPDATE counters SET number = 7 WHERE hour = 0 AND owner = 'ada'")
        (finding,) = await store.check()
        assert "ada" in finding


async def test_lateness_of_two_days_and_outcomes_of_two_months_are_kept(tmp_path: Path) -> None:
    """Also when the file is reopened every day: the first end in a new hour removes the oldest counts."""
    path = tmp_path / "horae.db"
    task = a_task()

    for day in range(5):
        async with open_store(path) as store:
            if day == 0:
                await store.add([a_new_task(task)])
            for hour in range(24):
                run = an_ended_run(task, planned=NOON + (24 * day + hour) * HOUR)
                await store.change(task.id, None, always(a_new_task(task)._replace(task=None, put=(), new_runs=(run,))))
    rows = (
        apsw.Connection(str(path)).execute("SELECT hour, name FROM counters WHERE owner = '' AND hour > 0").fetchall()
    )
    last = hour_of(NOON + (5 * 24 - 1) * HOUR)
    assert {hour for hour, name in rows if str(name).startswith(LATENESS_PREFIX)} == set(
        range(last - RETAINED_HOURS + 1, last + 1)
    )
    assert len({hour for hour, name in rows if name == OUTCOME_PREFIX + "succeeded"}) == 5 * 24


async def test_label_index_follows_writes_of_other_programs(tmp_path: Path) -> None:
    """Triggers maintain the index: another program writes only the tasks table."""
    path = tmp_path / "horae.db"
    made, edited, gone = (a_task(labels=LABELS[1]) for _ in range(3))

    async with open_store(path) as store:
        await add_tasks(store, made, edited, gone)
        with apsw.Connection(str(path)) as connection:
            connection.execute('UPDATE tasks SET labels = \'[["room","b"]]\' WHERE id = ?', (edited.id,))
            connection.execute("DELETE FROM task_state WHERE task = 3; DELETE FROM agenda WHERE task = 3")
            connection.execute("DELETE FROM tasks WHERE seq = 3")
        assert [each.task for each in (await store.tasks(TaskFilter(labels=LABELS[1]))).items] == [made]
        (found,) = (await store.tasks(TaskFilter(labels=(("room", "b"),)))).items
        assert found.task.id == edited.id
        assert not [finding for finding in await store.check() if "labels" in finding]
