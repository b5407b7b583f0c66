"""Migration 0009 (table renames) on SQLite: keeps all data, and is refused while an older node runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import apsw
import pytest

from horae.clock import SystemClock
from horae.errors import StoreDamaged, UnusableStore
from horae.model.ids import to_microseconds
from horae.ports.node_records import make_lease_record
from horae.stores.sqlite import migrate
from horae.stores.sqlite.migrate import migrations
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.stores.schema_upgrade import read_before, read_now, rows_of, settle_all_held
from tests.unit.stores.sqlite.store_setup import open_store


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "horae.db"
    with apsw.Connection(str(path)) as connection:
        for _, script in migrations()[:8]:
            connection.execute(script)
        connection.execute(rows_of("sqlite"))
    return path


def schema_version(path: Path) -> int:
    return int(str(apsw.Connection(str(path)).execute("PRAGMA user_version").fetchall()[0][0]))


def renew(path: Path, renewed: datetime, lease: object = None) -> None:
    with apsw.Connection(str(path)) as connection:
        connection.execute("UPDATE nodes SET renewed = ? WHERE id = 'node-2'", (to_microseconds(renewed),))
        if lease is not None:
            record = make_lease_record(HOUR)
            connection.execute(
                "INSERT INTO records (kind, key, owner, body, version) VALUES (?, ?, '', ?, 1)",
                (record.kind, record.key, record.body),
            )


async def test_upgrade_keeps_all_data(old_file: Path) -> None:
    async with open_store(old_file) as store:
        assert await read_now(store) == read_before("sqlite")
        await settle_all_held(store)
    assert schema_version(old_file) == len(migrations())


@pytest.mark.parametrize("lease", [None, HOUR])
async def test_upgrade_is_refused_while_an_older_node_holds_a_lease(old_file: Path, lease: object) -> None:
    now = SystemClock().now()
    renew(old_file, now if lease is None else now - MINUTE, lease)
    with pytest.raises(UnusableStore) as refused:
        async with open_store(old_file):
            pass
    assert refused.value.code == "store_nodes_running"
    assert "node-2 (0.1.0)." in refused.value.message
    assert "node-1" not in refused.value.message, "it has been silent since March"
    assert "Stop these nodes first" in refused.value.hint
    assert "请先停止这些节点" in refused.value.in_language("zh").hint
    assert schema_version(old_file) == 8


async def test_node_that_stopped_renewing_does_not_block_the_upgrade(old_file: Path) -> None:
    renew(old_file, SystemClock().now() - MINUTE)
    async with open_store(old_file) as store:
        assert [node.id for node in await store.nodes()] == ["node-1", "node-2"]


async def test_live_nodes_are_recognised_by_the_clock_of_the_store(old_file: Path) -> None:
    renew(old_file, NOON)
    with pytest.raises(UnusableStore) as refused:
        async with open_store(old_file, clock=VirtualClock(NOON + SECOND)):
            pass
    assert refused.value.code == "store_nodes_running"
    async with open_store(old_file, clock=VirtualClock(NOON + HOUR)) as store:
        assert [node.id for node in await store.nodes()] == ["node-1", "node-2"]


async def test_older_version_refuses_the_upgraded_file(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(old_file):
        pass
    known = migrations()
    monkeypatch.setattr(migrate, "migrations", lambda: known[:8])
    with pytest.raises(StoreDamaged, match=f"newer Horae .schema {len(known)}, this one knows 8"):
        async with open_store(old_file):
            pass


async def test_statement_of_an_older_process_fails_and_writes_nothing(old_file: Path) -> None:
    older = apsw.Connection(str(old_file))
    older.execute("SELECT count(*) FROM standings").fetchall()
    async with open_store(old_file) as store:
        before = await read_now(store)
        with pytest.raises(apsw.SQLError, match="no such table"):
            older.execute("UPDATE standings SET version = version + 1")
        assert await read_now(store) == before
    older.close()
