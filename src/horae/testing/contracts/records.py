"""Records: small documents under a kind and a key, where the first of two writers wins."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio

from ...ports.records import Record
from .contract import Contract, WholeStore


def _a_record(key: str = "first", kind: str = "token", owner: str = "ada", body: str = "{}") -> Record:
    return Record(kind, key, owner, body)


class RecordsContract(Contract):
    async def test_a_record_comes_back_as_it_was_put(self, store: WholeStore) -> None:
        record = _a_record("ключ/钥匙 '\"", body='{"text": "漢字 🌱", "nothing": null}')
        assert await store.put_record(record, replacing=None)
        assert await store.get_record(record.kind, record.key) == record
        assert await store.get_record(record.kind, record.key, "ada") == record

    async def test_what_is_not_there_or_foreign_is_none(self, store: WholeStore) -> None:
        await store.put_record(_a_record(), replacing=None)
        assert await store.get_record("token", "second") is None
        assert await store.get_record("group", "first") is None
        assert await store.get_record("token", "first", "bob") is None

    async def test_a_record_that_is_there_is_not_made_again(self, store: WholeStore) -> None:
        await store.put_record(_a_record(body="1"), replacing=None)
        assert not await store.put_record(_a_record(body="2"), replacing=None)
        assert await store.get_record("token", "first") == _a_record(body="1")

    async def test_a_record_is_replaced_only_at_the_version_that_was_seen(self, store: WholeStore) -> None:
        await store.put_record(_a_record(body="1"), replacing=None)
        assert not await store.put_record(_a_record(body="2"), replacing=2)
        assert await store.put_record(_a_record(body="2"), replacing=1)
        assert not await store.put_record(_a_record(body="3"), replacing=1)
        assert await store.get_record("token", "first") == _a_record(body="2")._replace(version=2)

    async def test_what_is_not_there_cannot_be_replaced(self, store: WholeStore) -> None:
        assert not await store.put_record(_a_record(), replacing=1)
        assert await store.get_record("token", "first") is None

    async def test_of_many_who_replace_at_once_one_wins(self, store: WholeStore) -> None:
        await store.put_record(_a_record(), replacing=None)
        async with self.another(store) as other:
            handles = (store, other) * 5
            won = await asyncio.gather(
                *(each.put_record(_a_record(body=str(place)), replacing=1) for place, each in enumerate(handles))
            )
        assert won.count(True) == 1
        assert await store.get_record("token", "first") == _a_record(body=str(won.index(True)))._replace(version=2)

    async def test_exactly_one_version_is_dropped(self, store: WholeStore) -> None:
        await store.put_record(_a_record(), replacing=None)
        await store.put_record(_a_record(), replacing=1)
        assert not await store.drop_record("token", "first", 1)
        assert await store.drop_record("token", "first", 2)
        assert not await store.drop_record("token", "first", 2)
        assert await store.get_record("token", "first") is None
        assert await store.put_record(_a_record(), replacing=None)

    async def test_records_are_listed_by_key_in_pages(self, store: WholeStore) -> None:
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

    async def test_a_page_that_is_exactly_full_may_be_the_last(self, store: WholeStore) -> None:
        for key in ("a", "b"):
            await store.put_record(_a_record(key), replacing=None)
        assert (await store.records("token", limit=2)).after is None
