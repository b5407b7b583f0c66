"""Migration 0012 (index of live runs by task) on SQLite: keeps all data and live runs; later code finds them by the index."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from horae.clock import SystemClock
from horae.errors import UnusableStore
from horae.model.ids import to_microseconds
from horae.model.run import RunState
from horae.stores.sqlite.migrate import APPLICATION_ID, migrations
from horae.testing.contracts.stores.setup import get_facts, settle, start_run
from horae.testing.factories import a_task
from tests.unit.stores.schema_upgrade import read_before, read_now, rows_of, settle_all_held
from tests.unit.stores.sqlite.store_setup import new_store, open_store


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file of schema 9, with live runs of two nodes."""
    path = tmp_path / "horae.db"
    with apsw.Connection(str(path)) as connection:
        for _, script in migrations()[:8]:
            connection.execute(script)
        connection.execute(rows_of("sqlite"))
        _, renames = migrations()[8]
        connection.execute(renames)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 9")
        assert connection.execute("SELECT count(*) FROM task_state WHERE live IS NOT NULL").fetchall() != [(0,)]
    return path


async def test_upgrade_keeps_all_data(old_file: Path) -> None:
    async with open_store(old_file) as store:
        assert await read_now(store) == read_before("sqlite")
        await settle_all_held(store)
        assert await store.check() == ()


async def test_upgrade_is_refused_while_an_older_node_runs(old_file: Path) -> None:
    """Its statements would write the column that the migration removes."""
    with apsw.Connection(str(old_file)) as connection:
        connection.execute("UPDATE nodes SET renewed = ?", (to_microseconds(SystemClock().now()),))
    with pytest.raises(UnusableStore) as refused:
        async with open_store(old_file):
            pass
    assert refused.value.code == "store_nodes_running"


async def test_run_that_ends_keeps_one_row(tmp_path: Path) -> None:
    task = a_task()
    async with new_store(tmp_path) as store:
        run = await start_run(store, task)
        assert (await get_facts(store, task)).live == (run,)
        assert await settle(store, run) == frozenset()
        assert (await get_facts(store, task)).live == ()
        ended = await store.run(run.id, None)
        assert ended is not None
        assert ended.state is RunState.SUCCEEDED
        rows = apsw.Connection(str(tmp_path / "horae.db")).execute("SELECT id, live FROM runs").fetchall()
        assert rows == [(run.id, 0)]
