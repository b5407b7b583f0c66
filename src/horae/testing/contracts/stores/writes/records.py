"""Contract of records: documents by kind and key, with optimistic locking by version."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from .....model.events.event import Event, EventKind
from .....ports.full_store import FullStore
from .....ports.records import Record, RecordWrite
from ....factories import HOUR, MICROSECOND, NOON, SECOND
from ..contract import Contract


def _a_record(key: str = "first", kind: str = "token", owner: str = "ada", body: str = "{}") -> Record:
    return Record(kind, key, owner, body)


class RecordsContract(Contract):
    async def test_a_record_is_read_back_unchanged(self, store: FullStore) -> None:
        record = _a_record("ключ/钥匙 '\"", body='{"text": "漢字 🌱", "nothing": null}')
        assert await store.put_record(record, replacing=None)
        assert await store.get_record(record.kind, record.key) == record
        assert await store.get_record(record.kind, record.key, "ada") == record

    async def test_an_absent_or_foreign_record_is_none(self, store: FullStore) -> None:
        await store.put_record(_a_record(), replacing=None)
        assert await store.get_record("token", "second") is None
        assert await store.get_record("group", "first") is None
        assert await store.get_record("token", "first", "bob") is None

    async def test_creating_an_existing_record_is_refused(self, store: FullStore) -> None:
        await store.put_record(_a_record(body="1"), replacing=None)
        assert not await store.put_record(_a_record(body="2"), replacing=None)
        assert await store.get_record("token", "first") == _a_record(body="1")

    async def test_a_record_is_replaced_only_at_the_expected_version(self, store: FullStore) -> None:
        await store.put_record(_a_record(body="1"), replacing=None)
        assert not await store.put_record(_a_record(body="2"), replacing=2)
        assert await store.put_record(_a_record(body="2"), replacing=1)
        assert not await store.put_record(_a_record(body="3"), replacing=1)
        assert await store.get_record("token", "first") == _a_record(body="2")._replace(version=2)

    async def test_an_absent_record_cannot_be_replaced(self, store: FullStore) -> None:
        assert not await store.put_record(_a_record(), replacing=1)
        assert await store.get_record("token", "first") is None

    async def test_one_of_many_concurrent_replacements_wins(self, store: FullStore) -> None:
        await store.put_record(_a_record(), replacing=None)
        async with self.another(store) as other:
            handles = (store, other) * 5
            won = await asyncio.gather(
                *(each.put_record(_a_record(body=str(place)), replacing=1) for place, each in enumerate(handles))
            )
        assert won.count(True) == 1
        assert await store.get_record("token", "first") == _a_record(body=str(won.index(True)))._replace(version=2)

    async def test_a_record_is_deleted_only_at_the_expected_version(self, store: FullStore) -> None:
        await store.put_record(_a_record(), replacing=None)
        await store.put_record(_a_record(), replacing=1)
        assert not await store.drop_record("token", "first", 1)
        assert await store.drop_record("token", "first", 2)
        assert not await store.drop_record("token", "first", 2)
        assert await store.get_record("token", "first") is None
        assert await store.put_record(_a_record(), replacing=None)

    async def test_records_are_listed_by_key_in_pages(self, store: FullStore) -> None:
        for key in ("d", "a", "e", "c", "b"):
            await store.put_record(_a_record(key, owner="bob" if key == "c" else "ada"), replacing=None)
        await store.put_record(_a_record("b", kind="group"), replacing=None)
        first = await store.records("token", limit=2)
        assert [record.key for record in first.items] == ["a", "b"]
        second = await store.records("token", None, first.after, 2)
        assert [record.key for record in second.items] == ["c", "d"]
        third = await store.records("token", None, second.after, 2)
        assert ([record.key for record in third.items], third.after) == (["e"], None)
        assert [record.key for record in (await store.records("token", "bob")).items] == ["c"]
        assert (await store.records("token", "cyd")).items == ()

    async def test_a_page_that_is_exactly_full_may_be_the_last(self, store: FullStore) -> None:
        for key in ("a", "b"):
            await store.put_record(_a_record(key), replacing=None)
        assert (await store.records("token", limit=2)).after is None

    async def test_records_are_listed_newest_first_on_request(self, store: FullStore) -> None:
        for key in ("d", "a", "e", "漢", "c", "b"):
            await store.put_record(_a_record(key, owner="bob" if key in "ace" else "ada"), replacing=None)
        await store.put_record(_a_record("b", kind="group"), replacing=None)
        first = await store.records("token", limit=3, newest=True)
        assert [record.key for record in first.items] == ["漢", "e", "d"]
        second = await store.records("token", None, first.after, 3, newest=True)
        assert ([record.key for record in second.items], second.after) == (["c", "b", "a"], None)
        page = await store.records("token", "bob", limit=2, newest=True)
        assert [record.key for record in page.items] == ["e", "c"]
        last = await store.records("token", "bob", page.after, 2, newest=True)
        assert ([record.key for record in last.items], last.after) == (["a"], None)
        assert (await store.records("token", "cyd", newest=True)).items == ()

    async def test_the_records_of_one_owner_are_paged(self, store: FullStore) -> None:
        for place in range(9):
            await store.put_record(_a_record(f"{place}", owner="bob" if place % 3 == 0 else "ada"), replacing=None)
        first = await store.records("token", "bob", limit=2)
        assert [record.key for record in first.items] == ["0", "3"]
        second = await store.records("token", "bob", first.after, 2)
        assert ([record.key for record in second.items], second.after) == (["6"], None)

    # --- batches -------------------------------------------------------------------------------------------------

    async def test_several_records_are_written_in_one_transaction(self, store: FullStore) -> None:
        for key in ("replaced", "dropped"):
            await store.put_record(_a_record(key), replacing=None)
        together = (
            RecordWrite(_a_record("made", body="1")),
            RecordWrite(_a_record("replaced", body="2"), 1),
            RecordWrite(_a_record("dropped"), 1, dropped=True),
        )
        assert await store.write_records(together)
        found = (await store.records("token")).items
        assert found == (_a_record("made", body="1"), _a_record("replaced", body="2")._replace(version=2))
        assert await store.write_records(())

    async def test_a_batch_of_record_writes_is_all_or_nothing(self, store: FullStore) -> None:
        await store.put_record(_a_record("there"), replacing=None)
        before = (await store.records("token")).items
        for late in (
            RecordWrite(_a_record("there", body="2")),
            RecordWrite(_a_record("there", body="2"), 2),
            RecordWrite(_a_record("there"), 2, dropped=True),
            RecordWrite(_a_record("there"), dropped=True),
            RecordWrite(_a_record("gone"), 1),
            RecordWrite(_a_record("gone"), 1, dropped=True),
            RecordWrite(_a_record("gone"), dropped=True),
        ):
            assert not await store.write_records(
                [RecordWrite(_a_record("first")), late, RecordWrite(_a_record("last"))]
            )
            assert not await store.write_records([late])
            assert (await store.records("token")).items == before

    async def test_records_and_events_are_written_together_or_not_at_all(self, store: FullStore) -> None:
        event = Event(EventKind.DELIVERY_FAILED, NOON, "ada", "", None, '{"delivery":"first"}')
        assert await store.write_with_events([RecordWrite(_a_record(body="1"))], [event])
        assert await store.get_record("token", "first") == _a_record(body="1")
        assert not await store.write_with_events([RecordWrite(_a_record(body="2"))], [event])
        assert [each.event for each in await store.events(0)] == [event]
        assert await store.write_with_events([RecordWrite(_a_record(body="2"), 1)], [])
        assert len(await store.events(0)) == 1

    async def test_later_writes_of_a_batch_see_the_earlier_ones(self, store: FullStore) -> None:
        made, replaced, dropped = (
            RecordWrite(_a_record(body="1")),
            RecordWrite(_a_record(body="2"), 1),
            RecordWrite(_a_record(), 2, dropped=True),
        )
        assert await store.write_records([made, replaced])
        assert await store.get_record("token", "first") == _a_record(body="2")._replace(version=2)
        assert await store.write_records([dropped, made])
        assert await store.get_record("token", "first") == _a_record(body="1")
        assert not await store.write_records([made, replaced])

    async def test_concurrent_appends_to_a_hash_chain_leave_no_gap(self, store: FullStore) -> None:
        """Each append replaces the head record at the expected version and writes its row in the same transaction."""
        await store.put_record(_a_record("head", kind="head", body="0"), replacing=None)

        async def seal(handle: FullStore, number: int) -> None:
            while True:
                head = await handle.get_record("head", "head")
                assert head is not None
                row = RecordWrite(_a_record(f"{int(head.body):04}", body=f"{number}"))
                after = RecordWrite(head._replace(body=f"{int(head.body) + 1}"), head.version)
                if await handle.write_records([row, after]):
                    return

        async with self.another(store) as other:
            await asyncio.gather(*(seal((store, other)[number % 2], number) for number in range(12)))
        rows = (await store.records("token")).items
        assert [row.key for row in rows] == [f"{place:04}" for place in range(12)]
        assert {row.body for row in rows} == {f"{number}" for number in range(12)}

    async def test_batches_that_write_the_same_records_in_another_order_do_not_deadlock(self, store: FullStore) -> None:
        keys = [f"{place}" for place in range(6)]
        for key in keys:
            await store.put_record(_a_record(key), replacing=None)
        async with self.another(store) as other:
            for version in range(1, 6):
                writes = [RecordWrite(_a_record(key), version) for key in keys]
                won = await asyncio.gather(store.write_records(writes), other.write_records(writes[::-1]))
                assert sorted(won) == [False, True]
        assert {record.version for record in (await store.records("token")).items} == {6}

    # --- expiry --------------------------------------------------------------------------------------------------

    async def test_the_expiry_of_a_record_is_stored_and_replaced_with_it(self, store: FullStore) -> None:
        record = _a_record()._replace(expires=NOON + MICROSECOND)
        await store.put_record(record, replacing=None)
        assert await store.get_record("token", "first") == record
        await store.put_record(record._replace(expires=NOON + HOUR), replacing=1)
        assert await store.get_record("token", "first") == record._replace(version=2, expires=NOON + HOUR)
        await store.put_record(record._replace(expires=None), replacing=2)
        assert await store.drop_expired(NOON + 2 * HOUR, 10) == 0
        assert (await store.records("token")).items == (record._replace(version=3, expires=None),)

    async def test_only_expired_records_are_purged(self, store: FullStore) -> None:
        kept = [_a_record("a"), _a_record("later")._replace(expires=NOON + MICROSECOND)]
        gone = [
            _a_record("b")._replace(expires=NOON),
            _a_record("c", kind="answer", owner="bob")._replace(expires=NOON - HOUR),
        ]
        assert await store.write_records([RecordWrite(record) for record in (*kept, *gone)])
        assert await store.get_record("token", "b") == gone[0], "an expired record stays until it is purged"
        assert await store.drop_expired(NOON, 10) == 2
        assert await store.drop_expired(NOON, 10) == 0
        assert (await store.records("token")).items == tuple(kept)
        assert (await store.records("answer")).items == ()
        assert await store.put_record(gone[0], replacing=None)

    async def test_a_purge_deletes_the_oldest_up_to_its_limit(self, store: FullStore) -> None:
        for key, age in (("a", 1), ("b", 5), ("c", 3), ("d", 5), ("e", 2)):
            await store.put_record(_a_record(key)._replace(expires=NOON - age * SECOND), replacing=None)
        left = []
        while await store.drop_expired(NOON, 2):
            left.append([record.key for record in (await store.records("token")).items])
        assert left == [["a", "c", "e"], ["a"], []]

    async def test_a_record_with_an_extended_expiry_is_not_purged(self, store: FullStore) -> None:
        async with self.another(store) as other:
            await store.put_record(_a_record()._replace(expires=NOON), replacing=None)
            assert await other.put_record(_a_record()._replace(expires=NOON + HOUR), replacing=1)
            assert await store.drop_expired(NOON, 10) == 0
            assert await other.drop_expired(NOON + HOUR, 10) == 1
