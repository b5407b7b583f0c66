"""Mutation check of the shared transaction contract: each planted defect fails the contract tests listed for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw
import pytest

from horae.errors import HoraeError
from horae.model.change import Change
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts import SharedTransactionContract
from tests.contract.test_sqlite_using import TestAttached as UsingAttached
from tests.contract.test_sqlite_using import TestSQLiteUsing as UsingOnSQLite


class CommitsByItself(SQLiteStore):
    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        await super().add_using(connection, changes, over)
        connection.execute("COMMIT; BEGIN IMMEDIATE")


class WritesOutsideTheTransaction(SQLiteStore):
    """Commits first, because the writer would wait for the transaction."""

    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        connection.execute("COMMIT")
        await self.add(changes)
        connection.execute("BEGIN IMMEDIATE")
        over()


class RollsEverythingBack(SQLiteStore):
    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        try:
            await super().add_using(connection, changes, over)
        except HoraeError:
            if isinstance(connection, apsw.Connection) and connection.in_transaction:
                connection.execute("ROLLBACK; BEGIN IMMEDIATE")
            raise


class AddsOneByOne(SQLiteStore):
    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        for change in changes:
            await super().add_using(connection, [change], over)


class BeginsByItself(SQLiteStore):
    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        if isinstance(connection, apsw.Connection) and not connection.in_transaction:
            with connection:
                return await super().add_using(connection, changes, over)
        return await super().add_using(connection, changes, over)


class AcceptsAnyDatabase(SQLiteStore):
    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        if isinstance(connection, apsw.Connection):
            self._absolute_path = connection.filename
        await super().add_using(connection, changes, over)


class NotifiesBeforeTheCommit(SQLiteStore):
    async def add_using(self, connection: Any, changes: Sequence[Change], over: Callable[[], None]) -> None:
        await super().add_using(connection, changes, over)
        over()


DEFECTS: dict[type[SQLiteStore], tuple[str, ...]] = {
    CommitsByItself: (
        "test_an_uncommitted_task_is_invisible",
        "test_a_rolled_back_task_leaves_no_trace",
        "test_a_lost_connection_rolls_the_task_back",
    ),
    WritesOutsideTheTransaction: (
        "test_a_rolled_back_task_leaves_no_trace",
        "test_rolling_back_to_a_savepoint_removes_later_tasks",
        "test_a_savepoint_of_the_caller_survives_an_add",
    ),
    RollsEverythingBack: (
        "test_a_taken_key_is_refused_and_the_transaction_stays_usable",
        "test_a_key_conflict_within_one_transaction_is_refused",
    ),
    AddsOneByOne: ("test_a_taken_key_is_refused_and_the_transaction_stays_usable",),
    BeginsByItself: ("test_a_connection_without_a_transaction_is_refused",),
    AcceptsAnyDatabase: ("test_a_connection_to_another_database_is_refused",),
    NotifiesBeforeTheCommit: (
        "test_the_caller_is_notified_after_the_commit_only",
        "test_the_caller_is_notified_of_a_rollback",
    ),
}
CASES = [(store, name) for store, names in DEFECTS.items() for name in names]


@pytest.mark.parametrize(("store", "name"), CASES, ids=lambda case: case if isinstance(case, str) else case.__name__)
def test_a_planted_defect_is_noticed(store: type[SQLiteStore], name: str) -> None:
    contract = UsingOnSQLite()
    contract.kind = store
    with pytest.raises((AssertionError, HoraeError, apsw.Error)):
        getattr(contract, name)()


def test_names_without_their_schema_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.stores.sqlite.shared_transactions._qualify_tables", lambda statement, _schema: statement)
    name = "test_a_committed_task_has_its_entries_labels_key_and_events"
    getattr(UsingOnSQLite(), name)()
    with pytest.raises((AssertionError, HoraeError)):
        getattr(UsingAttached(), name)()


def test_every_named_test_exists() -> None:
    assert all(hasattr(SharedTransactionContract, name) for _, name in CASES)
