"""One thread writes: requests share a transaction, nobody suffers for another, and nothing is written for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread

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
from tests.unit.stores.sqlite.opening import new_store, opened


@asynccontextmanager
async def held_up(store: SQLiteStore) -> AsyncIterator[None]:
    """The writer is busy until the block ends, so that all that is asked inside comes at once."""
    go_on, busy = Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(_: SqliteConnection) -> None:
        loop.call_soon_threadsafe(busy.set)
        go_on.wait()

    waiting = asyncio.create_task(store._writer.submit(wait))
    await busy.wait()
    try:
        yield
    finally:
        go_on.set()
        # It shares a transaction with what was asked meanwhile, and may hear of their misfortune.
        await asyncio.wait([waiting])
        waiting.exception()


def note(done: list[str], name: str, _: SqliteConnection) -> None:
    done.append(name)


async def asked(store: SQLiteStore, count: int) -> None:
    """Until so many requests are in the writer's inbox."""
    while store._writer._inbox.qsize() < count:
        await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))])


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group is as large as what is waiting, also on a machine that has other things to do."""
    monkeypatch.setattr(writer, "_GROUP_SECONDS", 600.0)


async def test_requests_that_come_together_share_one_transaction(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        before = store.transactions
        async with held_up(store):
            several = [asyncio.create_task(store.write_metadata(f"fact {number}", "known")) for number in range(50)]
            await asked(store, 50)
        await asyncio.gather(*several)
        assert store.transactions == before + 1, "they came while one was being made"
        assert [await store.read_metadata(f"fact {number}") for number in range(50)] == ["known"] * 50


async def test_who_fails_harms_nobody_else_of_the_group(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        run = await start_run(store)
        before = store.transactions
        async with held_up(store):
            calls = [
                asyncio.create_task(store.change(run.task_id, None, request_cancel([run], Reason.QUOTA))),
                asyncio.create_task(store.change(run.task_id, None, fail)),
                asyncio.create_task(settle(store, run, decide=fail)),
                asyncio.create_task(store.write_metadata("still", "here")),
            ]
            await asked(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(answer) is PlannedFailure for answer in answers] == [False, True, True, False]
        assert store.transactions == before + 1
        assert await store.read_metadata("still") == "here"
        kept = await store.run(run.id, None)
        assert kept is not None
        assert kept.cancel is Reason.QUOTA


async def test_the_first_of_a_group_may_fail_as_well(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        run = await start_run(store)
        async with held_up(store):
            calls = [
                asyncio.create_task(settle(store, run, decide=fail)),
                asyncio.create_task(store.write_metadata("still", "here")),
            ]
            await asked(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(answer) for answer in answers] == [PlannedFailure, type(None)]
        assert await store.read_metadata("still") == "here"
        assert await settle(store, run) == frozenset()


async def test_who_claims_or_settles_overtakes_who_adds(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        done: list[str] = []
        before = store.transactions
        async with held_up(store):
            calls = [
                asyncio.create_task(store._writer.submit(partial(note, done, name), urgent="settle" in name))
                for name in ("add 1", "add 2", "settle 1", "add 3", "settle 2")
            ]
            await asked(store, len(calls))
        await asyncio.gather(*calls)
        assert done == ["settle 1", "settle 2", "add 1", "add 2", "add 3"]
        assert store.transactions == before + 2, "who is urgent is answered before anybody adds"


async def test_patience_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_GROUP_SECONDS", 0.0)

    async with new_store(tmp_path) as store:
        done: list[str] = []
        async with held_up(store):
            names = ("add", *(f"settle {number}" for number in range(20)))
            calls = [
                asyncio.create_task(store._writer.submit(partial(note, done, name), urgent="settle" in name))
                for name in names
            ]
            await asked(store, len(calls))
        await asyncio.gather(*calls)
        assert done.index("add") == writer._MAX_URGENT_GROUPS


async def test_what_was_answered_alone_is_not_taken_back_with_others(tmp_path: Path) -> None:
    """A single statement is written at once: the failure of a transaction that comes after it is none of its own."""

    async with new_store(tmp_path) as store:
        await store.join(a_node())
        loop = asyncio.get_running_loop()
        other: asyncio.Future[None] = loop.create_future()

        def cannot_commit(link: SqliteConnection) -> None:
            link.query("UPDATE tokens SET last = last")
            link.raw.set_commit_hook(lambda: True)

        def extend(link: SqliteConnection) -> None:
            link.query("UPDATE nodes SET renewals = renewals + 1")
            store._writer._inbox.put(WriteRequest(cannot_commit, True, None, False, loop, other))  # noqa: FBT003 - its fields

        def renewals(link: SqliteConnection) -> list[Row]:
            link.raw.set_commit_hook(None)
            return link.query("SELECT renewals FROM nodes")

        await store._writer.submit(extend, autocommit=True)
        with pytest.raises(StoreError):
            await other
        assert await store._writer.submit(renewals) == [(1,)]


async def test_what_no_future_takes_is_told_all_the_same(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:

        def ran_out(_: SqliteConnection) -> None:
            raise StopIteration

        async with held_up(store):
            calls = [asyncio.create_task(store._writer.submit(work)) for work in (ran_out, lambda _: "done")]
            await asked(store, len(calls))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers[0], RuntimeError)
        assert answers[1] == "done"


async def test_a_claim_that_finds_nothing_writes_nothing(tmp_path: Path) -> None:
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


async def test_to_renew_a_lease_is_one_statement(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        statements, transactions = store.statements, store.transactions
        assert (await store.renew_lease(NODE, NOON)).held
        assert (store.statements, store.transactions) == (statements + 1, transactions + 1)


async def test_any_thread_with_a_loop_of_its_own_may_ask(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        held: list[bool] = []

        async def renew() -> None:
            held.append((await store.renew_lease(NODE, NOON)).held)

        thread = Thread(target=lambda: asyncio.run(renew()))
        thread.start()
        await asyncio.to_thread(thread.join)
        assert held == [True]


async def test_who_stopped_waiting_is_not_missed(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        async with held_up(store):
            impatient = asyncio.create_task(store.write_metadata("asked", "and gone"))
            await asked(store, 1)
            impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        await store.write_metadata("next", "one")
        assert await store.read_metadata("asked") == "and gone"


async def test_closing_finishes_what_was_accepted(tmp_path: Path) -> None:
    tasks = [a_task() for _ in range(20)]

    store = SQLiteStore(tmp_path / "horae.db")
    await store.open()
    async with held_up(store):
        adding = [asyncio.create_task(store.add([a_new_task(task)])) for task in tasks]
        await asked(store, len(tasks))
        closing = asyncio.create_task(store.close())
        await asked(store, len(tasks) + 1)
        with pytest.raises(StoreUnavailable):
            await store.write_metadata("too", "late")
    await asyncio.gather(*adding, closing)
    async with opened(tmp_path / "horae.db") as again:
        await again.join(a_node())
        assert len(await claim_all(again)) == len(tasks)


def a_crowd(count: int) -> list[Change]:
    """New tasks with keys; every second one has two entries."""
    tasks = [a_task(key=str(place)) for place in range(count)]
    return [
        a_new_task(task, entries=[an_extra_entry(task), an_entry(task)][place % 2 :])
        for place, task in enumerate(tasks)
    ]


async def test_many_tasks_are_added_all_or_none(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.join(a_node())
        await add_tasks(store, a_task(key="taken"))
        crowd = a_crowd(200)
        events = await store.last_event()
        for clash in (a_task(key="taken"), a_task(key="77")):
            with pytest.raises(Conflict):
                await store.add([*crowd, a_new_task(clash)])
        with pytest.raises(StoreError):
            await store.add([*crowd, crowd[50]])
        assert await store.find("ada", "0") is None
        assert await store.last_event() == events
        await store.add(crowd)
        for change in crowd[::50]:
            assert change.task is not None
            assert await get_facts(store, change.task) == Facts(change.task, NEW_TASK_STATUS, change.put)
        assert [each.event for each in await store.events(events)] == [change.events[0] for change in crowd]
        assert len(await claim_all(store)) == 1 + 300
        assert await store.check() == ()


async def test_tasks_that_are_added_at_once_are_written_in_the_statements_of_one(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(9)]
        before = store.statements
        await store.add([a_new_task(tasks[0])])
        alone, before = store.statements - before, store.statements
        async with held_up(store):
            asking = [asyncio.create_task(store.add([a_new_task(task)])) for task in tasks[1:]]
            await asked(store, len(asking))
        await asyncio.gather(*asking)
        assert store.statements - before < 3 * alone
        assert all([await store.facts(task.id, None) for task in tasks])


async def test_of_tasks_that_are_added_at_once_only_those_are_refused_that_cannot_be(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        await store.put_record(Record("seat", "taken", "o", "{}"), replacing=None)
        tasks = [a_task(key=key) for key in ("a", None, "a", "b", None)]
        seats = [(RecordWrite(Record("seat", seat, "o", "{}")),) for seat in ("1", "2", "3", "taken", "2")]
        async with held_up(store):
            asking = [
                asyncio.create_task(store.add([a_new_task(task)._replace(attached=seat)]))
                for task, seat in zip(tasks, seats, strict=True)
            ]
            await asked(store, len(asking))
        told = await asyncio.gather(*asking, return_exceptions=True)
        # The third wants a key that is the first's, the fourth a seat that was taken before, the fifth that of the second.
        codes = [getattr(each, "code", None) for each in told]
        assert codes == [None, None, "key_taken", "record_changed", "record_changed"]
        there = [await store.facts(task.id, None) is not None for task in tasks]
        assert there == [True, True, False, False, False]
        assert sorted(each.key for each in (await store.records("seat")).items) == ["1", "2", "taken"]


async def test_what_can_be_prepared_is_prepared_before_anybody_waits_for_the_file(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        seen: list[tuple[str, bool]] = []
        link: list[SqliteConnection] = []

        def prepare(given: Sequence[str]) -> Callable[[SqliteConnection], None]:
            seen.append(("prepared", link[0].in_transaction))
            return lambda link: seen.append((",".join(given), link.in_transaction))

        await store._writer.submit(link.append)
        async with held_up(store):
            asking = [asyncio.create_task(_shared(store, BatchableWrite(prepare, (name,)))) for name in "abc"]
            await asked(store, len(asking))
        await asyncio.gather(*asking)
        await _shared(store, BatchableWrite(prepare, ("d",)))
        assert seen == [("prepared", False), ("a,b,c", True), ("prepared", False), ("d", True)]


async def test_what_cannot_be_prepared_harms_nobody_else(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        written: list[str] = []

        def prepare(given: Sequence[str]) -> Callable[[SqliteConnection], None]:
            if "b" in given:
                raise PlannedFailure
            return lambda _: written.extend(given)

        async with held_up(store):
            asking = [asyncio.create_task(_shared(store, BatchableWrite(prepare, (name,)))) for name in "abc"]
            await asked(store, len(asking))
        told = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in told] == [type(None), PlannedFailure, type(None)]
        assert written == ["a", "c"]


async def test_many_that_were_written_at_once_are_committed_before_others_come_along(tmp_path: Path) -> None:
    async with new_store(tmp_path) as store:
        tasks = [a_task() for _ in range(40)]
        before = store.transactions
        async with held_up(store):
            asking = [asyncio.create_task(store.add([a_new_task(task)])) for task in tasks]
            await asked(store, len(asking))
        await asyncio.gather(*asking)
        assert store.transactions == before + 3, "whoever held it up, thirty-two, and eight"


async def _shared(store: SQLiteStore, share: BatchableWrite) -> None:
    await store._writer.submit(share.write_alone, urgent=False, batchable=share)
