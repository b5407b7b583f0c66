"""Coroutines that all SQL stores share, as the threads of a SQLite file run them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from horae.stores.run_to_end import run_to_end
from horae.stores.sql.connection import Statements
from tests.unit.stores.sqlite.store_setup import new_store


class Pause:
    def __await__(self) -> Generator[None]:
        yield


async def wait() -> None:
    await Pause()


def test_coroutine_that_waits_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="waited"):
        run_to_end(wait())


async def test_list_is_an_array_even_if_it_is_empty(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        assert await store._database.query("versions_by_id", []) == []
        assert await store._database.query("owner_event_counts", ["ada", "eve"], 5) == [("ada", 0), ("eve", 0)]


async def test_all_steps_of_a_statement_take_the_same_values(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:

        async def work(statements: Statements) -> list[tuple[object, ...]]:
            await statements.query("raise_event_number", 41)
            assert await statements.query("lock_tasks", [1]) == []
            return await statements.query("last_event")

        assert await store._database.transact(work) == [(41,)]


async def test_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:

        async def work(statements: Statements) -> None:
            await statements.query("write_metadata", "name", "value")
            raise LookupError

        with pytest.raises(LookupError):
            await store._database.transact(work)
        assert await store.read_metadata("name") is None
