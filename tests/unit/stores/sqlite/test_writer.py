"""Writer thread of SQLite (group commit): requests share transactions and fail alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from horae.errors import Conflict, StoreError, StoreUnavailable
from horae.model.change import Change, Facts
from horae.model.reason import Reason
from horae.model.record import Record, RecordWrite
from horae.model.task import NEW_TASK_STATUS
from horae.stores.sqlite import SQLiteStore, writer
from horae.stores.sqlite.connection import Row, SqliteConnection
from horae.stores.sqlite.write_requests import BatchableWrite, WriteRequest
from horae.testing.contracts.stores.setup import add_tasks, claim, claim_all, get_facts, settle, start_run
from horae.testing.decisions import PlannedFailure, fail, request_cancel
from horae.testing.factories import NODE, NOON, SECOND, a_new_task, a_node, a_task, an_entry, an_extra_entry
from tests.unit.stores.sqlite.store_setup import new_store, open_store
from tests.unit.stores.sqlite.writer_control import block_writer, wait_for_requests


def note(done: list[str], name: str, _: SqliteConnection) -> None:
    done.append(name)


@pytest.fixture(autouse=True)
def _long_group_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group takes every waiting request, also on a slow machine."""
    monkeypatch.setattr(writer, "_GROUP_SECONDS", 600.0)


async def test_concurrent_requests_share_one_transaction(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        before = store.transactions
        async with block_writer(store):
            several = [asyncio.create_task(store.write_metadata(f"fact {number}", "known")) for number in range(50)]
            await wait_for_requests(store, 50)
        await asyncio.gather(*several)
        assert store.transactions == before + 1, "they arrived while the writer was busy"
        assert [await store.read_metadata(f"fact {number}") for number in range(50)] == ["known"] * 50


async def test_failed_request_does_not_affect_its_group(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        run = await start_run(store)
        before = store.transactions
        async with block_writer(store):
            calls = [
                asyncio.create_task(store.change(run.task_id, None, request_cancel([run], Reason.QUOTA))),
                asyncio.create_task(store.change(run.task_id, None, fail)),
                asyncio.create_task(settle(store, run, decide=fail)),
                asyncio.create_task(store.write_metadata("still", "here")),
            ]
            await wait_for_requests(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(answer) is PlannedFailure for answer in answers] == [False, True, True, False]
        assert store.transactions == before + 1
        assert await store.read_metadata("still") == "here"
        stored = await store.run(run.id, None)
        assert stored is not None
        assert stored.cancel is Reason.QUOTA


async def test_first_request_of_a_group_may_fail(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        run = await start_run(store)
        async with block_writer(store):
            calls = [
                asyncio.create_task(settle(store, run, decide=fail)),
                asyncio.create_task(store.write_metadata("still", "here")),
            ]
            await wait_for_requests(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(answer) for answer in answers] == [PlannedFailure, type(None)]
        assert await store.read_metadata("still") == "here"
        assert await settle(store, run) == frozenset()


async def test_urgent_requests_overtake_adds(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        done: list[str] = []
        before = store.transactions
        async with block_writer(store):
            calls = [
                asyncio.create_task(store._writer.submit(partial(note, done, name), urgent="settle" in name))
                for name in ("add 1", "add 2", "settle 1", "add 3", "settle 2")
            ]
            await wait_for_requests(store, len(calls))
        await asyncio.gather(*calls)
        assert done == ["settle 1", "settle 2", "add 1", "add 2", "add 3"]
        assert store.transactions == before + 2, "urgent requests commit before adds"


async def test_add_waits_for_a_limited_number_of_urgent_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_GROUP_SECONDS", 0.0)

    async with new_store(tmp_path) as store:
        done: list[str] = []
        async with block_writer(store):
            names = ("add", *(f"settle {number}" for number in range(20)))
            calls = [
                asyncio.create_task(store._writer.submit(partial(note, done, name), urgent="settle" in name))
                for name in names
            ]
            await wait_for_requests(store, len(calls))
        await asyncio.gather(*calls)
        assert done.index("add") == writer._MAX_URGENT_GROUPS


async def test_autocommitted_request_survives_a_later_failed_commit(tmp_path: Path) -> None:
    """A single statement commits at once: a later failed transaction does not undo it."""

    async with new_store(tmp_path) as store:
        await store.join(a_node())
        loop = asyncio.get_running_loop()
        other: asyncio.Future[None] = loop.create_future()

        def cannot_commit(link: SqliteConnection) -> None:
            link.query("UPDATE tokens SET last = last")
            link.raw.set_commit_hook(lambda: True)

        def extend(link: SqliteConnection) -> None:
            link.query("UPDATE nodes SET renewals = renewals + 1")
            store._writer._inbox.put(WriteRequest(cannot_commit, True, None, False, loop, other))  # noqa: FBT003 - fields of the tuple

        def renewals(link: SqliteConnection) -> list[Row]:
            link.raw.set_commit_hook(None)
            return link.query("SELECT renewals FROM nodes")

        await store._writer.submit(extend, autocommit=True)
        with pytest.raises(StoreError):
            await other
        assert await store._writer.submit(renewals) == [(1,)]


async def test_stop_iteration_is_raised_as_runtime_error(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:

        def ran_out(_: SqliteConnection) -> None:
            raise StopIteration

        async with block_writer(store):
            calls = [asyncio.create_task(store._writer.submit(work)) for work in (ran_out, lambda _: "done")]
            await wait_for_requests(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers[0], RuntimeError)
        assert answers[1] == "done"


async def test_empty_claim_writes_nothing(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(), due=NOON + SECOND)
        transactions, statements = store.transactions, store.statements
        assert (await claim(store)).next_due == NOON + SECOND
        assert not (await claim(store, node="stranger")).runs
        assert await store.settle([], fail) == frozenset()
        assert await store.start([], NOON) == frozenset()
        assert store.transactions == transactions
        assert store.statements == statements + 2


async def test_lease_renewal_is_one_statement(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        statements, transactions = store.statements, store.transactions
        assert (await store.renew_lease(NODE, NOON)).held
        assert (store.statements, store.transactions) == (statements + 1, transactions + 1)


async def test_other_thread_with_its_own_loop_may_call(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        held: list[bool] = []

        async def renew() -> None:
            held.append((await store.renew_lease(NODE, NOON)).held)

        thread = Thread(target=lambda: asyncio.run(renew()))
        thread.start()
        await asyncio.to_thread(thread.join)
        assert held == [True]


async def test_cancelled_caller_does_not_cancel_its_write(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        async with block_writer(store):
            cancelled = asyncio.create_task(store.write_metadata("name", "written"))
            await wait_for_requests(store, 1)
            cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        await store.write_metadata("next", "one")
        assert await store.read_metadata("name") == "written"


async def test_close_finishes_accepted_requests(tmp_path: Path) -> None:
    tasks = [a_task() for _ in range(20)]

    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    async with block_writer(store):
        adding = [asyncio.create_task(store.add([a_new_task(task)])) for task in tasks]
        await wait_for_requests(store, len(tasks))
        closing = asyncio.create_task(store.close())
        await wait_for_requests(store, len(tasks) + 1)
        with pytest.raises(StoreUnavailable):
            await store.write_metadata("too", "late")
    await asyncio.gather(*adding, closing)
    async with open_store(tmp_path / "horae.db") as again:
        await again.join(a_node())
        assert len(await claim_all(again)) == len(tasks)


def new_tasks(count: int) -> list[Change]:
    """Make new tasks with keys; every second one has two entries."""
    tasks = [a_task(key=str(place)) for place in range(count)]
    return [
        a_new_task(task, entries=[an_extra_entry(task), an_entry(task)][place % 2 :])
        for place, task in enumerate(tasks)
    ]


async def test_batch_of_tasks_is_added_atomically(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(key="taken"))
        batch = new_tasks(200)
        events = await store.last_event()
        for clash in (a_task(key="taken"), a_task(key="77")):
            with pytest.raises(Conflict):
                await store.add([*batch, a_new_task(clash)])
        with pytest.raises(StoreError):
            await store.add([*batch, batch[50]])
        assert await store.find("ada", "0") is None
        assert await store.last_event() == events
        await store.add(batch)
        for change in batch[::50]:
            assert change.task is not None
            assert await get_facts(store, change.task) == Facts(change.task, NEW_TASK_STATUS, change.put)
        assert [each.event for each in await store.events(events)] == [change.events[0] for change in batch]
        assert len(await claim_all(store)) == 1 + 300
        assert await store.check() == ()


async def test_concurrent_adds_share_statements(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(9)]
        before = store.statements
        await store.add([a_new_task(tasks[0])])
        alone, before = store.statements - before, store.statements
        async with block_writer(store):
            adds = [asyncio.create_task(store.add([a_new_task(task)])) for task in tasks[1:]]
            await wait_for_requests(store, len(adds))
        await asyncio.gather(*adds)
        assert store.statements - before < 3 * alone
        assert all([await store.facts(task.id, None) for task in tasks])


async def test_only_conflicting_adds_of_a_group_are_refused(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.put_record(Record("slot", "taken", "o", "{}"), replacing=None)
        tasks = [a_task(key=key) for key in ("a", None, "a", "b", None)]
        reservations = [
            (RecordWrite(Record("slot", reservation, "o", "{}")),) for reservation in ("1", "2", "3", "taken", "2")
        ]
        async with block_writer(store):
            adds = [
                asyncio.create_task(store.add([a_new_task(task)._replace(attached=reservation)]))
                for task, reservation in zip(tasks, reservations, strict=True)
            ]
            await wait_for_requests(store, len(adds))
        answers = await asyncio.gather(*adds, return_exceptions=True)
        # The third has the key of the first, the fourth an existing record, the fifth the record of the second.
        codes = [getattr(each, "code", None) for each in answers]
        assert codes == [None, None, "key_taken", "record_changed", "record_changed"]
        there = [await store.facts(task.id, None) is not None for task in tasks]
        assert there == [True, True, False, False, False]
        assert sorted(each.key for each in (await store.records("slot")).items) == ["1", "2", "taken"]


async def test_batchable_writes_are_prepared_outside_the_transaction(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        seen: list[tuple[str, bool]] = []
        link: list[SqliteConnection] = []

        def prepare(given: Sequence[str]) -> Callable[[SqliteConnection], None]:
            seen.append(("prepared", link[0].in_transaction))
            return lambda link: seen.append((",".join(given), link.in_transaction))

        await store._writer.submit(link.append)
        async with block_writer(store):
            adds = [asyncio.create_task(submit_batchable(store, BatchableWrite(prepare, (name,)))) for name in "abc"]
            await wait_for_requests(store, len(adds))
        await asyncio.gather(*adds)
        await submit_batchable(store, BatchableWrite(prepare, ("d",)))
        assert seen == [("prepared", False), ("a,b,c", True), ("prepared", False), ("d", True)]


async def test_failed_preparation_does_not_affect_its_group(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        written: list[str] = []

        def prepare(given: Sequence[str]) -> Callable[[SqliteConnection], None]:
            if "b" in given:
                raise PlannedFailure
            return lambda _: written.extend(given)

        async with block_writer(store):
            adds = [asyncio.create_task(submit_batchable(store, BatchableWrite(prepare, (name,)))) for name in "abc"]
            await wait_for_requests(store, len(adds))
        answers = await asyncio.gather(*adds, return_exceptions=True)
        assert [type(each) for each in answers] == [type(None), PlannedFailure, type(None)]
        assert written == ["a", "c"]


async def test_group_size_is_limited(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(40)]
        before = store.transactions
        async with block_writer(store):
            adds = [asyncio.create_task(store.add([a_new_task(task)])) for task in tasks]
            await wait_for_requests(store, len(adds))
        await asyncio.gather(*adds)
        assert store.transactions == before + 3, "the blocking request, thirty-two, and eight"


async def submit_batchable(store: SQLiteStore, share: BatchableWrite) -> None:
    await store._writer.submit(share.write_alone, urgent=False, batchable=share)
