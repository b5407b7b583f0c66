"""Tasks in the caller's own transaction: they come and go with it, and nothing of it is touched."""
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
from .....ports.store import TaskFilter
from ....factories import NOON, a_new_task, a_node, a_task, an_entry
from ..contract import Contract, WholeStore
from ..setup import claim, claim_all, everything, facts_of, keep, settle

PATIENCE: Final = 60


class Guest(Protocol):
    """Somebody else's connection to the database of a store, with a table `notes (note TEXT)` of their own in it."""

    @property
    def connection(self) -> object:
        """What a store is given."""

    async def run(self, statement: str) -> None:
        """BEGIN, COMMIT, ROLLBACK, SAVEPOINT x, ROLLBACK TO SAVEPOINT x, or whatever else a connection can do."""

    async def notes(self) -> list[str]:
        """What is in their table, in order."""


def ignore_end() -> None: ...


class ConnectionCheckContract(Contract):
    """Every store: whoever cannot do it says so."""

    async def test_an_object_that_is_no_connection_is_refused(self, store: WholeStore) -> None:
        code = "wrong_connection" if store.shares_transactions else "no_shared_transaction"
        for connection in (object(), "sqlite:///horae.db", 5):
            assert await _refusal(store, connection, [a_new_task(a_task())]) == code
        assert (await store.tasks(TaskFilter())).items == ()


class SharedTransactionContract(Contract):
    """For stores that share transactions; a subclass gives `guest` besides."""

    reports_transaction_end = True
    """False for a store whose commit rings by itself."""

    @abstractmethod
    def guest(self, store: WholeStore) -> AbstractAsyncContextManager[Guest]:
        """A new connection to the database of this store, in no transaction; `notes` is empty when it is first asked for."""

    async def test_the_store_reports_that_it_shares_transactions(self, store: WholeStore) -> None:
        assert store.shares_transactions is True

    async def test_a_committed_task_has_its_entries_labels_key_and_events(self, store: WholeStore) -> None:
        task = a_task(key="report", labels=(("source", "orders"),))
        async with self.guest(store) as guest:
            await guest.run("BEGIN")
            await guest.run("INSERT INTO notes VALUES ('order 7')")
            await _add(store, guest, task)
            await guest.run("COMMIT")
            assert await guest.notes() == ["order 7"]
        facts = await facts_of(store, task)
        assert (facts.task, facts.entries, facts.live) == (task, (an_entry(task),), ())
        assert await store.find("ada", "report") == facts
        assert (await store.tasks(TaskFilter("ada", labels=(("source", "orders"),)))).items == (facts,)
        assert await store.next_due() == NOON
        assert [each.event.task_id for each in await store.events(0)] == [task.id]
        assert await store.check() == ()

    async def test_a_task_added_in_a_shared_transaction_equals_one_added_by_the_store(self, store: WholeStore) -> None:
        task = a_task()
        async with self.make() as other:
            await keep(other, task)
            async with self.guest(store) as guest, _begun(guest):
                await _add(store, guest, task)
            assert await facts_of(store, task) == await facts_of(other, task)
            assert await store.counts("ada", [NO_HOUR]) == await other.counts("ada", [NO_HOUR]) != {}
            assert [each.event for each in await store.events(0)] == [each.event for each in await other.events(0)]

    async def test_an_uncommitted_task_is_invisible(self, store: WholeStore) -> None:
        task = a_task(key="report")
        await store.join(a_node())
        async with self.guest(store) as guest, _begun(guest):
            await _add(store, guest, task)
            assert await store.facts(task.id, None) is None
            assert await store.find("ada", "report") is None
            assert await store.next_due() is None
            assert await store.last_event() == 0
            assert (await claim(store)).runs == ()
        assert [each.task for each in (await claim(store)).runs] == [task]

    async def test_a_rolled_back_task_leaves_no_trace(self, store: WholeStore) -> None:
        await keep(store, a_task())
        before = await everything(store)
        async with self.guest(store) as guest:
            await guest.run("BEGIN")
            await guest.run("INSERT INTO notes VALUES ('order 7')")
            await _add(store, guest, a_task(), a_task())
            await guest.run("ROLLBACK")
            assert await guest.notes() == []
        assert await everything(store) == before
        assert await store.check() == ()

    async def test_a_lost_connection_rolls_the_task_back(self, store: WholeStore) -> None:
        before = await everything(store)
        async with self.guest(store) as guest:
            await guest.run("BEGIN")
            await _add(store, guest, a_task())
        assert await everything(store) == before

    async def test_rolling_back_to_a_savepoint_removes_later_tasks(self, store: WholeStore) -> None:
        first, second, third = a_task(key="first"), a_task(key="second"), a_task(key="third")
        async with self.guest(store) as guest, _begun(guest):
            await _add(store, guest, first)
            await guest.run("SAVEPOINT theirs")
            await _add(store, guest, second)
            await guest.run("ROLLBACK TO SAVEPOINT theirs")
            await _add(store, guest, third)
        assert await _kept(store) == [first, third]
        assert await store.find("ada", "second") is None
        assert await store.check() == ()

    async def test_a_savepoint_of_the_caller_survives_an_add(self, store: WholeStore) -> None:
        async with self.guest(store) as guest, _begun(guest):
            await guest.run("SAVEPOINT theirs")
            await _add(store, guest, a_task())
            await guest.run("INSERT INTO notes VALUES ('lost')")
            await guest.run("ROLLBACK TO SAVEPOINT theirs")
            await guest.run("INSERT INTO notes VALUES ('kept')")
        assert await _kept(store) == []

    async def test_a_taken_key_is_refused_and_the_transaction_stays_usable(self, store: WholeStore) -> None:
        before, after = a_task(key="report"), a_task(key="other")
        await keep(store, before)
        async with self.guest(store) as guest:
            await guest.run("BEGIN")
            await guest.run("INSERT INTO notes VALUES ('before')")
            clash = [a_new_task(a_task()), a_new_task(a_task(key="report"))]
            assert await _refusal(store, guest.connection, clash) == "key_taken"
            await guest.run("INSERT INTO notes VALUES ('after')")
            await _add(store, guest, after)
            await guest.run("COMMIT")
            assert await guest.notes() == ["before", "after"]
        assert await _kept(store) == [before, after]
        assert await store.check() == ()

    async def test_attached_records_commit_and_roll_back_with_the_transaction(self, store: WholeStore) -> None:
        note = Record("note", "audit", "ada", '"order 7"')
        change = a_new_task(a_task())._replace(attached=(RecordWrite(note),))
        async with self.guest(store) as guest:
            for end, kept in (("ROLLBACK", None), ("COMMIT", note)):
                await guest.run("BEGIN")
                await store.add_using(guest.connection, [change], ignore_end)
                assert await store.get_record("note", "audit") is None
                await guest.run(end)
                assert await store.get_record("note", "audit") == kept

    async def test_a_changed_record_is_refused_and_the_transaction_stays_usable(self, store: WholeStore) -> None:
        note, after = Record("note", "audit", "ada", "{}"), a_task()
        await store.put_record(note, replacing=None)
        late = [a_new_task(a_task()), a_new_task(a_task())._replace(attached=(RecordWrite(note),))]
        async with self.guest(store) as guest:
            await guest.run("BEGIN")
            await guest.run("INSERT INTO notes VALUES ('before')")
            assert await _refusal(store, guest.connection, late) == "record_changed"
            await guest.run("INSERT INTO notes VALUES ('after')")
            await store.add_using(
                guest.connection, [a_new_task(after)._replace(attached=(RecordWrite(note, 1),))], ignore_end
            )
            await guest.run("COMMIT")
            assert await guest.notes() == ["before", "after"]
        assert await _kept(store) == [after]
        assert await store.get_record("note", "audit") == note._replace(version=2)
        assert await store.check() == ()

    async def test_a_key_conflict_within_one_transaction_is_refused(self, store: WholeStore) -> None:
        task = a_task(key="report")
        async with self.guest(store) as guest, _begun(guest):
            await _add(store, guest, task)
            assert await _refusal(store, guest.connection, [a_new_task(a_task(key="report"))]) == "key_taken"
            twice = [a_new_task(a_task(key="twice")) for _ in range(2)]
            assert await _refusal(store, guest.connection, twice) == "key_taken"
            await _add(store, guest, a_task(owner="bob", key="report"))
        assert [each.owner for each in await _kept(store)] == ["ada", "bob"]

    async def test_an_existing_id_is_refused_and_the_transaction_stays_usable(self, store: WholeStore) -> None:
        task, other = a_task(), a_task()
        await keep(store, task)
        async with self.guest(store) as guest, _begun(guest):
            try:
                await _add(store, guest, task._replace(name="another"))
            except StoreError:
                await _add(store, guest, other)
            else:
                raise AssertionError("two tasks with one id were accepted")
        assert await _kept(store) == [task, other]

    async def test_a_connection_without_a_transaction_is_refused(self, store: WholeStore) -> None:
        async with self.guest(store) as guest:
            assert await _refusal(store, guest.connection, [a_new_task(a_task())]) == "no_transaction"
            async with _begun(guest):
                await _add(store, guest)
            assert await _refusal(store, guest.connection, [a_new_task(a_task())]) == "no_transaction"
        assert await _kept(store) == []

    async def test_a_connection_to_another_database_is_refused(self, store: WholeStore) -> None:
        async with self.make() as other, self.guest(other) as guest:
            await guest.run("BEGIN")
            assert await _refusal(store, guest.connection, [a_new_task(a_task())]) == "another_database"
            await guest.run("COMMIT")
            assert await _kept(other) == []
        assert await _kept(store) == []

    async def test_a_closed_connection_is_refused(self, store: WholeStore) -> None:
        async with self.guest(store) as guest:
            connection = guest.connection
        assert await _refusal(store, connection, [a_new_task(a_task())]) == "wrong_connection"

    async def test_many_tasks_keep_their_order_and_later_tasks_follow(self, store: WholeStore) -> None:
        tasks = [a_task(name=f"task {number}") for number in range(300)]
        last = a_task()
        async with self.guest(store) as guest, _begun(guest):
            await _add(store, guest, *tasks[:100])
            for task in tasks[100:110]:
                await _add(store, guest, task)
            await _add(store, guest, *tasks[110:])
        await keep(store, last)
        assert await _kept(store) == [*tasks, last]
        assert await store.check() == ()

    async def test_a_task_added_in_a_shared_transaction_runs(self, store: WholeStore) -> None:
        await store.join(a_node())
        async with self.guest(store) as guest, _begun(guest):
            await _add(store, guest, a_task(), a_task(lane="press"))
        runs = [each.run for each in await claim_all(store)]
        assert len(runs) == 2
        assert await settle(store, *runs) == frozenset()
        assert await store.check() == ()

    async def test_the_caller_is_notified_after_the_commit_only(self, store: WholeStore) -> None:
        async with self.guest(store) as guest:
            bell = await self._until(store, guest, "COMMIT")
            await self._rings(bell)
        assert await store.next_due() == NOON

    async def test_the_caller_is_notified_of_a_rollback(self, store: WholeStore) -> None:
        async with self.guest(store) as guest:
            bell = await self._until(store, guest, "ROLLBACK")
            await self._rings(bell)
        assert await store.next_due() is None

    async def test_each_of_several_transactions_notifies_its_caller(self, store: WholeStore) -> None:
        async with self.guest(store) as first, self.guest(store) as second:
            bells = [await self._until(store, guest, "COMMIT") for guest in (first, second, first)]
            for bell in bells:
                await self._rings(bell)
        assert len(await _kept(store)) == 3

    async def _until(self, store: WholeStore, guest: Guest, end: str) -> asyncio.Event:
        """A transaction that adds a task, and ends; the bell that its end rings."""
        bell = asyncio.Event()
        await guest.run("BEGIN")
        await _add(store, guest, a_task(), over=bell.set)
        for _ in range(3):
            await store.last_event()
        assert not bell.is_set()
        await guest.run(end)
        return bell

    async def _rings(self, bell: asyncio.Event) -> None:
        if self.reports_transaction_end:
            await asyncio.wait_for(bell.wait(), PATIENCE)


async def _add(store: WholeStore, guest: Guest, *tasks: Task, over: Callable[[], None] = ignore_end) -> None:
    await store.add_using(guest.connection, [a_new_task(task) for task in tasks], over)


@asynccontextmanager
async def _begun(guest: Guest) -> AsyncIterator[None]:
    """A transaction that is committed."""
    await guest.run("BEGIN")
    yield
    await guest.run("COMMIT")


async def _kept(store: WholeStore) -> list[Task]:
    return [facts.task for facts in (await store.tasks(TaskFilter(), limit=1_000)).items]


async def _refusal(store: WholeStore, connection: object, changes: Sequence[Change]) -> str | None:
    try:
        await store.add_using(connection, changes, ignore_end)
    except Refusal as refusal:
        return refusal.code
    return None
