"""The integrity check of the Redis store finds each contradiction that is planted into its keys."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from horae.stores.redis import RedisStore
from horae.stores.redis.layout.keys import Keys
from horae.testing.contracts.stores.writes.sample_contents import fill_store

KEYS = Keys()
KEPT = "kept"


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[RedisStore]:
    made = RedisStore(redis_url)
    await made.open()
    await fill_store(made)
    yield made
    await made.close()


async def test_filled_store_has_no_problem_and_every_lost_index_is_found(store: RedisStore) -> None:
    assert await store.check() == ()
    client = store._database.client
    for key in (
        KEYS.task_ids,
        KEYS.task_numbers,
        KEYS.runs,
        KEYS.live,
        KEYS.task_keys,
        KEYS.record_kinds,
        KEYS.streams,
    ):
        assert await client.call("COPY", key, KEPT), key
        await client.call("DEL", key)
        assert any(key.removeprefix(KEYS.tag) in problem for problem in await store.check()), key
        await client.call("RENAME", KEPT, key)
    assert await store.check() == ()


async def test_member_without_a_document_is_found(store: RedisStore) -> None:
    client = store._database.client
    await client.call("ZADD", KEYS.timed, 1, "00000\x00ada\x00tsk_gone\x00main")
    await client.call("HINCRBY", KEYS.counters("ada"), "0:state:active", 1)
    problems = await store.check()
    assert any("tsk_gone" in problem for problem in problems)
    assert any("are counted as state:active" in problem for problem in problems)
