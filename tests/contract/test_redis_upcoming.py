"""Claims of the Redis store that take entries read ahead of time: one round trip, and never other entries than a claim that reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any, Final

from horae.model.change import Change
from horae.model.entry import NEXT_SLOT
from horae.ports.store import Claim
from horae.stores.redis.claims.upcoming import _MAX_ENTRIES
from horae.stores.redis.layout.keys import Keys
from horae.stores.redis.store import RedisStore
from horae.testing.decisions import always, lose, start_everything, succeed
from horae.testing.factories import NODE, NOON, a_new_task, a_node, a_settlement, a_task, an_entry, an_extra_entry

_KEYS: Final = Keys()
_MILLISECOND: Final = timedelta(milliseconds=1)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[RedisStore]:
    store = RedisStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def _add(store: RedisStore, *milliseconds: int, priority: int = 0) -> list[str]:
    """Add a task for each of these milliseconds after noon; return their ids."""
    tasks = [a_task(priority=priority) for _ in milliseconds]
    changes = [
        a_new_task(task, entries=[an_entry(task, due=_at(late))])
        for task, late in zip(tasks, milliseconds, strict=True)
    ]
    await store.add(changes)
    return [task.id for task in tasks]


async def _read_ahead(store: RedisStore, *milliseconds: int) -> list[str]:
    """Add tasks for these milliseconds after noon, and let claims at noon read them; return their ids."""
    await store.join(a_node())
    # The first claim of a deployment reserves, so the second one is the first that reads ahead.
    await _add(store, 0)
    await _claim(store, 0)
    await _add(store, 0)
    added = await _add(store, *milliseconds)
    assert len((await _claim(store, 0)).runs) == 1
    return added


async def _claim(store: RedisStore, milliseconds: int, room: int = 200) -> Claim:
    return await store.claim_due(_at(milliseconds), NODE, room, start_everything)


def _at(milliseconds: int) -> datetime:
    return NOON + milliseconds * _MILLISECOND


def _tasks_of(claim: Claim) -> list[str]:
    return [each.task.id for each in claim.runs]


def _record_scripts(store: RedisStore) -> list[str]:
    connections, seen = store._connections, list[str]()
    run_script = connections.run_script

    async def run(name: str, keys: Sequence[str], values: Sequence[Any]) -> Any:
        seen.append(name)
        return await run_script(name, keys, values)

    vars(connections)["run_script"] = run
    return seen


async def test_a_claim_of_entries_that_were_read_ahead_is_one_round_trip(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        one, two, three = await _read_ahead(store, 10, 11, 150)
        scripts = _record_scripts(store)
        first = await _claim(store, 10)
        second = await _claim(store, 60)
        third = await _claim(store, 150)
        assert [_tasks_of(claim) for claim in (first, second, third)] == [[one], [two], [three]]
        assert [claim.next_due for claim in (first, second, third)] == [_at(11), _at(150), None]
        tokens = [each.run.token for claim in (first, second, third) for each in claim.runs]
        assert all(before < after for before, after in pairwise(tokens))
        assert scripts == ["commit", "commit", "commit"]


async def test_settlements_between_such_claims_do_not_disturb_them(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        expected = await _read_ahead(store, *range(10, 50, 10))
        scripts = _record_scripts(store)
        for place, task_id in enumerate(expected):
            claim = await _claim(store, 10 * place + 10)
            assert _tasks_of(claim) == [task_id]
            assert not await store.settle([a_settlement(each.run) for each in claim.runs], succeed)
        assert scripts == ["commit"] * 8


async def test_a_task_that_another_client_adds_meanwhile_is_claimed_too(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        known = await _read_ahead(store, 10)
        added = await _add(other, 5)
        assert _tasks_of(await _claim(store, 10)) == [*added, *known]


async def test_a_higher_priority_that_is_added_meanwhile_goes_first(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        known = await _read_ahead(store, 10)
        urgent = await _add(other, 12, priority=9)
        assert _tasks_of(await _claim(store, 20, room=1)) == urgent
        assert _tasks_of(await _claim(store, 20, room=1)) == known


async def test_an_entry_that_is_dropped_meanwhile_does_not_start(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        dropped, kept = await _read_ahead(store, 10, 10)
        assert await other.change(dropped, None, always(Change(dropped=(NEXT_SLOT,)))) is not None
        assert _tasks_of(await _claim(store, 10)) == [kept]
        assert await store.next_due() is None


async def test_an_entry_that_is_moved_away_and_replaced_by_another_does_not_start(redis_url: str) -> None:
    """The number of due entries is the same as before."""
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        (moved,) = await _read_ahead(store, 10)
        facts = await other.facts(moved, None)
        assert facts is not None
        later = Change(put=(an_entry(facts.task, due=_at(5_000)),))
        assert await other.change(moved, None, always(later)) is not None
        added = await _add(other, 10)
        assert _tasks_of(await _claim(store, 10)) == added
        assert await store.next_due() == _at(5_000)


async def test_entries_that_another_node_claims_first_start_once(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        known = await _read_ahead(store, 10, 20)
        first = await _claim(other, 10)
        second = await _claim(store, 20)
        assert [_tasks_of(first), _tasks_of(second)] == [known[:1], known[1:]]
        assert first.runs[0].run.token < second.runs[0].run.token


async def test_a_node_that_was_recovered_meanwhile_claims_nothing(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        await _read_ahead(store, 10)
        while await other.recover(NODE, 0, lose, 10):
            pass
        assert (await _claim(store, 10)).runs == ()
        # Its runs are lost, and the entry is as it was.
        assert await store.next_due() == _at(10)


async def test_a_failover_meanwhile_gives_a_token_of_the_next_epoch(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        known = await _read_ahead(store, 10)
        await store._connections.call("HSET", _KEYS.tokens, "replid", "another")
        claim = await _claim(store, 10)
        assert _tasks_of(claim) == known
        assert claim.runs[0].run.token >> 40 == 2


async def test_two_entries_of_one_task_are_claimed_one_after_the_other(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        await store.join(a_node())
        await _add(store, 0)
        await _claim(store, 0)
        task = a_task()
        entries = [an_entry(task, due=_at(10)), an_extra_entry(task, due=_at(11))]
        await _add(store, 0)
        await store.add([a_new_task(task, entries=entries)])
        await _claim(store, 0)
        seen = [_tasks_of(await _claim(store, 20)) for _ in range(2)]
        assert seen == [[task.id], [task.id]]


async def test_more_entries_of_one_instant_than_are_read_ahead_are_all_claimed(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        expected = await _read_ahead(store, *[10] * (_MAX_ENTRIES // 2), *[20] * _MAX_ENTRIES)
        seen: list[str] = []
        for _ in range(6):
            seen += _tasks_of(await _claim(store, 20, room=500))
        assert seen == expected


async def test_two_nodes_at_one_agenda_start_every_task_once(redis_url: str) -> None:
    """Random instants, claims at random instants by two nodes at once, and tasks that are added meanwhile."""
    random = Random(17)
    async with _opened(redis_url) as first, _opened(redis_url) as second:
        expected = await _read_ahead(first, *(random.randrange(1, 2_000) for _ in range(300)))
        seen: list[str] = []

        async def work(store: RedisStore, random: Random) -> None:
            now = 0
            while now < 2_100:
                now += random.randrange(1, 40)
                claim = await _claim(store, now, room=random.choice((2, 20)))
                seen.extend(_tasks_of(claim))
                await store.settle([a_settlement(each.run) for each in claim.runs], succeed)
                if not random.randrange(4):
                    expected.extend(await _add(store, now + random.randrange(60)))

        await asyncio.gather(work(first, Random(1)), work(second, Random(2)))
        while runs := _tasks_of(await _claim(first, 5_000)):
            seen += runs
        assert sorted(seen) == sorted(expected)
