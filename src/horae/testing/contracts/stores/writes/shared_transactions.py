"""Contract of shared transactions: tasks added on the caller's connection commit and roll back with it."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol

from .....errors import Refusal, StoreError
from .....model.change import Change
from .....model.counts import NO_HOUR
from .....model.record import Record, RecordWrite
from .....model.task import Task
from .....ports.full_store import FullStore
from .....ports.store import TaskFilter
from ....factories import NOON, a_new_task, a_node, a_task, an_entry
from ..contract import Contract
from ..setup import add_tasks, claim, claim_all, get_facts, read_all, settle

PATIENCE: Final = 60


class CallerConnection(Protocol):
    """A connection of the caller to the store's database, in which the caller has a table `notes (note TEXT)`."""

    @property
    def connection(self) -> object:
        """The driver's connection, as passed to `add_using`."""

    async def run(self, statement: str) -> None:
        """Execute one statement: BEGIN, COMMIT, ROLLBACK, SAVEPOINT x, ROLLBACK TO SAVEPOINT x or other SQL."""

    async def notes(self) -> list[str]:
        """All rows of `notes`, in order."""


def ignore_end() -> None: ...


class ConnectionCheckContract(Contract):
    """For every store: an object that is no usable connection is refused by code."""

    async def test_an_object_that_is_no_connection_is_refused(self, store: FullStore) -> None:
        code = "wrong_connection" if store.shares_transactions else "no_shared_transaction"
        for connection in (object(), "sqlite:///horae.db", 5):
            assert await _refusal_code(store, connection, [a_new_task(a_task())]) == code
        assert (await store.tasks(TaskFilter())).items == ()


class SharedTransactionContract(Contract):
    """For stores that share transactions; a subclass also implements `connect_as_caller`."""

    reports_transaction_end = True
    """False for a store that notices commits by itself and calls no callback."""

    @abstractmethod
    def connect_as_caller(self, store: FullStore) -> AbstractAsyncContextManager[CallerConnection]:
        """Open a new connection to the store's database, outside of a transaction; `notes` is empty at first."""

    async def test_the_store_reports_that_it_shares_transactions(self, store: FullStore) -> None:
        assert store.shares_transactions is True

    async def test_a_committed_task_has_its_entries_labels_key_and_events(self, store: FullStore) -> None:
        task = a_task(key="report", labels=(("source", "orders"),))
        async with self.connect_as_caller(store) as caller:
            await caller.run("BEGIN")
            await caller.run("INSERT INTO notes VALUES ('order 7')")
            await _add(store, caller, task)
            await caller.run("COMMIT")
            assert await caller.notes() == ["order 7"]
        facts = await get_facts(store, task)
        assert (facts.task, facts.entries, facts.live) == (task, (an_entry(task),), ())
        assert await store.find("ada", "report") == facts
        assert (await store.tasks(TaskFilter("ada", labels=(("source", "orders"),)))).items == (facts,)
        assert await store.next_due() == NOON
        assert [each.event.task_id for each in await store.events(0)] == [task.id]
        assert await store.check() == ()

    async def test_a_task_added_in_a_shared_transaction_equals_one_added_by_the_store(self, store: FullStore) -> None:
        task = a_task()
        async with self.make() as other:
            await add_tasks(other, task)
            async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
                await _add(store, caller, task)
            assert await get_facts(store, task) == await get_facts(other, task)
            assert await store.counts("ada", [NO_HOUR]) == await other.counts("ada", [NO_HOUR]) != {}
            assert [each.event for each in await store.events(0)] == [each.event for each in await other.events(0)]

    async def test_an_uncommitted_task_is_invisible(self, store: FullStore) -> None:
        task = a_task(key="report")
        await store.join(a_node())
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            await _add(store, caller, task)
            assert await store.facts(task.id, None) is None
            assert await store.find("ada", "report") is None
            assert await store.next_due() is None
            assert await store.last_event() == 0
            assert (await claim(store)).runs == ()
        assert [each.task for each in (await claim(store)).runs] == [task]

    async def test_a_rolled_back_task_leaves_no_trace(self, store: FullStore) -> None:
        await add_tasks(store, a_task())
        before = await read_all(store)
        async with self.connect_as_caller(store) as caller:
            await caller.run("BEGIN")
            await caller.run("INSERT INTO notes VALUES ('order 7')")
            await _add(store, caller, a_task(), a_task())
            await caller.run("ROLLBACK")
            assert await caller.notes() == []
        assert await read_all(store) == before
        assert await store.check() == ()

    async def test_a_lost_connection_rolls_the_task_back(self, store: FullStore) -> None:
        before = await read_all(store)
        async with self.connect_as_caller(store) as caller:
            await caller.run("BEGIN")
            await _add(store, caller, a_task())
        assert await read_all(store) == before

    async def test_rolling_back_to_a_savepoint_removes_later_tasks(self, store: FullStore) -> None:
        first, second, third = a_task(key="first"), a_task(key="second"), a_task(key="third")
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            await _add(store, caller, first)
            await caller.run("SAVEPOINT caller_savepoint")
            await _add(store, caller, second)
            await caller.run("ROLLBACK TO SAVEPOINT caller_savepoint")
            await _add(store, caller, third)
        assert await _list_tasks(store) == [first, third]
        assert await store.find("ada", "second") is None
        assert await store.check() == ()

    async def test_a_savepoint_of_the_caller_survives_an_add(self, store: FullStore) -> None:
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            await caller.run("SAVEPOINT caller_savepoint")
            await _add(store, caller, a_task())
            await caller.run("INSERT INTO notes VALUES ('lost')")
            await caller.run("ROLLBACK TO SAVEPOINT caller_savepoint")
            await caller.run("INSERT INTO notes VALUES ('kept')")
        assert await _list_tasks(store) == []

    async def test_a_taken_key_is_refused_and_the_transaction_stays_usable(self, store: FullStore) -> None:
        before, after = a_task(key="report"), a_task(key="other")
        await add_tasks(store, before)
        async with self.connect_as_caller(store) as caller:
            await caller.run("BEGIN")
            await caller.run("INSERT INTO notes VALUES ('before')")
            clash = [a_new_task(a_task()), a_new_task(a_task(key="report"))]
            assert await _refusal_code(store, caller.connection, clash) == "key_taken"
            await caller.run("INSERT INTO notes VALUES ('after')")
            await _add(store, caller, after)
            await caller.run("COMMIT")
            assert await caller.notes() == ["before", "after"]
        assert await _list_tasks(store) == [before, after]
        assert await store.check() == ()

    async def test_attached_records_commit_and_roll_back_with_the_transaction(self, store: FullStore) -> None:
        note = Record("note", "audit", "ada", '"order 7"')
        change = a_new_task(a_task())._replace(attached=(RecordWrite(note),))
        async with self.connect_as_caller(store) as caller:
            for end, kept in (("ROLLBACK", None), ("COMMIT", note)):
                await caller.run("BEGIN")
                await store.add_using(caller.connection, [change], ignore_end)
                assert await store.get_record("note", "audit") is None
                await caller.run(end)
                assert await store.get_record("note", "audit") == kept

    async def test_a_changed_record_is_refused_and_the_transaction_stays_usable(self, store: FullStore) -> None:
        note, after = Record("note", "audit", "ada", "{}"), a_task()
        await store.put_record(note, replacing=None)
        late = [a_new_task(a_task()), a_new_task(a_task())._replace(attached=(RecordWrite(note),))]
        async with self.connect_as_caller(store) as caller:
            await caller.run("BEGIN")
            await caller.run("INSERT INTO notes VALUES ('before')")
            assert await _refusal_code(store, caller.connection, late) == "record_changed"
            await caller.run("INSERT INTO notes VALUES ('after')")
            await store.add_using(
                caller.connection, [a_new_task(after)._replace(attached=(RecordWrite(note, 1),))], ignore_end
            )
            await caller.run("COMMIT")
            assert await caller.notes() == ["before", "after"]
        assert await _list_tasks(store) == [after]
        assert await store.get_record("note", "audit") == note._replace(version=2)
        assert await store.check() == ()

    async def test_a_key_conflict_within_one_transaction_is_refused(self, store: FullStore) -> None:
        task = a_task(key="report")
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            await _add(store, caller, task)
            assert await _refusal_code(store, caller.connection, [a_new_task(a_task(key="report"))]) == "key_taken"
            twice = [a_new_task(a_task(key="twice")) for _ in range(2)]
            assert await _refusal_code(store, caller.connection, twice) == "key_taken"
            await _add(store, caller, a_task(owner="bob", key="report"))
        assert [each.owner for each in await _list_tasks(store)] == ["ada", "bob"]

    async def test_an_existing_id_is_refused_and_the_transaction_stays_usable(self, store: FullStore) -> None:
        task, other = a_task(), a_task()
        await add_tasks(store, task)
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            try:
                await _add(store, caller, task._replace(name="another"))
            except StoreError:
                await _add(store, caller, other)
            else:
                raise AssertionError("two tasks with one id were accepted")
        assert await _list_tasks(store) == [task, other]

    async def test_a_connection_without_a_transaction_is_refused(self, store: FullStore) -> None:
        async with self.connect_as_caller(store) as caller:
            assert await _refusal_code(store, caller.connection, [a_new_task(a_task())]) == "no_transaction"
            async with _committed_transaction(caller):
                await _add(store, caller)
            assert await _refusal_code(store, caller.connection, [a_new_task(a_task())]) == "no_transaction"
        assert await _list_tasks(store) == []

    async def test_a_connection_to_another_database_is_refused(self, store: FullStore) -> None:
        async with self.make() as other, self.connect_as_caller(other) as caller:
            await caller.run("BEGIN")
            assert await _refusal_code(store, caller.connection, [a_new_task(a_task())]) == "another_database"
            await caller.run("COMMIT")
            assert await _list_tasks(other) == []
        assert await _list_tasks(store) == []

    async def test_a_closed_connection_is_refused(self, store: FullStore) -> None:
        async with self.connect_as_caller(store) as caller:
            connection = caller.connection
        assert await _refusal_code(store, connection, [a_new_task(a_task())]) == "wrong_connection"

    async def test_many_tasks_keep_their_order_and_later_tasks_follow(self, store: FullStore) -> None:
        tasks = [a_task(name=f"task {number}") for number in range(300)]
        last = a_task()
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            await _add(store, caller, *tasks[:100])
            for task in tasks[100:110]:
                await _add(store, caller, task)
            await _add(store, caller, *tasks[110:])
        await add_tasks(store, last)
        assert await _list_tasks(store) == [*tasks, last]
        assert await store.check() == ()

    async def test_a_task_added_in_a_shared_transaction_runs(self, store: FullStore) -> None:
        await store.join(a_node())
        async with self.connect_as_caller(store) as caller, _committed_transaction(caller):
            await _add(store, caller, a_task(), a_task(lane="press"))
        runs = [each.run for each in await claim_all(store)]
        assert len(runs) == 2
        assert await settle(store, *runs) == frozenset()
        assert await store.check() == ()

    async def test_the_caller_is_notified_after_the_commit_only(self, store: FullStore) -> None:
        async with self.connect_as_caller(store) as caller:
            ended = await self._run_transaction(store, caller, "COMMIT")
            await self._wait_for_end(ended)
        assert await store.next_due() == NOON

    async def test_the_caller_is_notified_of_a_rollback(self, store: FullStore) -> None:
        async with self.connect_as_caller(store) as caller:
            ended = await self._run_transaction(store, caller, "ROLLBACK")
            await self._wait_for_end(ended)
        assert await store.next_due() is None

    async def test_each_of_several_transactions_notifies_its_caller(self, store: FullStore) -> None:
        async with self.connect_as_caller(store) as first, self.connect_as_caller(store) as second:
            endeds = [await self._run_transaction(store, caller, "COMMIT") for caller in (first, second, first)]
            for ended in endeds:
                await self._wait_for_end(ended)
        assert len(await _list_tasks(store)) == 3

    async def _run_transaction(self, store: FullStore, caller: CallerConnection, end: str) -> asyncio.Event:
        """Add a task in a transaction and end it; return the event that the end of the transaction sets."""
        ended = asyncio.Event()
        await caller.run("BEGIN")
        await _add(store, caller, a_task(), over=ended.set)
        for _ in range(3):
            await store.last_event()
        assert not ended.is_set()
        await caller.run(end)
        return ended

    async def _wait_for_end(self, ended: asyncio.Event) -> None:
        if self.reports_transaction_end:
            await asyncio.wait_for(ended.wait(), PATIENCE)


async def _add(store: FullStore, caller: CallerConnection, *tasks: Task, over: Callable[[], None] = ignore_end) -> None:
    await store.add_using(caller.connection, [a_new_task(task) for task in tasks], over)


@asynccontextmanager
async def _committed_transaction(caller: CallerConnection) -> AsyncIterator[None]:
    """A transaction that commits at the end of the block."""
    await caller.run("BEGIN")
    yield
    await caller.run("COMMIT")


async def _list_tasks(store: FullStore) -> list[Task]:
    return [facts.task for facts in (await store.tasks(TaskFilter(), limit=1_000)).items]


async def _refusal_code(store: FullStore, connection: object, changes: Sequence[Change]) -> str | None:
    try:
        await store.add_using(connection, changes, ignore_end)
    except Refusal as refusal:
        return refusal.code
    return None
