"""Statement cache of SQLite: a statement is compiled once for all bound values."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from horae.model.limits import CLAIM_SLICE
from horae.stores.sql.claims import claim as sql_claim
from horae.stores.sqlite import SQLiteStore
from horae.stores.sqlite.connection import SqliteConnection
from horae.testing.contracts.stores.setup import add_tasks, claim_all, settle
from horae.testing.factories import NODE, NOON, a_node, a_task
from tests.unit.stores.sqlite.store_setup import new_store


async def one_round(store: SQLiteStore) -> None:
    """Work on a backlog of many owners and a lane, and renew the lease."""
    owners = [a_task(owner=f"owner {each}", priority=each % 5) for each in range(CLAIM_SLICE + 1)]
    await add_tasks(store, *owners, a_task(lane="kitchen"))
    await settle(store, *(each.run for each in await claim_all(store)))
    await store.renew_lease(NODE, NOON)


async def test_bound_values_do_not_recompile_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite would recompile for a better plan per value, which costs several times the statement."""
    # On a slow machine a slice ends early, and statements of other sizes are compiled for the first time.
    monkeypatch.setattr(sql_claim, "thread_time", float)
    compiled: list[str | None] = []

    def authorize(_: int, table: str | None, *__: str | None) -> int:
        """SQLite calls the authorizer only while it compiles."""
        compiled.append(table)
        return apsw.SQLITE_OK

    def watch(link: SqliteConnection) -> None:
        link.raw.authorizer = authorize

    async with new_store(tmp_path) as store:
        await store.join(a_node())
        await store._writer.submit(watch)
        await one_round(store)
        assert "agenda" in compiled
        await one_round(store)
        compiled.clear()
        await one_round(store)
        assert compiled == []
