"""Claims of the Redis store between their read and their commit: one that dies loses nothing, one that is overtaken starts nothing.

A backlog is reserved between the two; few due entries are left on the agenda.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise
from signal import SIGKILL
from typing import Any

from horae.model.change import Change, Facts
from horae.model.entry import NEXT_SLOT, Entry
from horae.ports.store import Claim
from horae.stores.redis.layout.keys import Keys
from horae.stores.redis.scripts import load_script
from horae.stores.redis.store import RedisStore
from horae.testing.decisions import always, lose, start_everything, start_within_lanes, succeed
from horae.testing.factories import NODE, NOON, a_new_task, a_node, a_settlement, a_task, an_entry

_KEYS = Keys()
_BACKLOG = 40
"""More entries than a claim of ten takes at once."""
_DYING_CLAIM = """
import asyncio, os, signal, sys
from horae.stores.redis.store import RedisStore
from horae.testing.factories import NODE, NOON

async def main():
    store = RedisStore(sys.argv[1])
    await store.open()
    await store.claim_due(NOON, NODE, 10, lambda *_: os.kill(os.getpid(), signal.SIGKILL))

asyncio.run(main())
"""


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[RedisStore]:
    store = RedisStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def _add_tasks(store: RedisStore, count: int) -> list[str]:
    tasks = [a_task() for _ in range(count)]
    await store.add([a_new_task(task, entries=[an_entry(task, due=NOON)]) for task in tasks])
    return [task.id for task in tasks]


async def _end_reservations(store: RedisStore) -> None:
    """Make the reservations end, without waiting for the clock of the server."""
    client = store._connections
    for member in await client.call("ZRANGE", _KEYS.reserved, 0, -1):
        await client.call("ZADD", _KEYS.reserved, "XX", 1, member)


async def test_a_claim_killed_before_its_commit_loses_nothing(redis_url: str) -> None:
    """Entries of a backlog can be claimed when the reservation has ended, and not before."""
    async with _opened(redis_url) as store:
        await store.join(a_node())
        task_ids = await _add_tasks(store, _BACKLOG)
        await _kill_claim(redis_url)
        reserved = len(await store._connections.call("ZRANGE", _KEYS.reserved, 0, -1))
        early = await store.claim_due(NOON, NODE, _BACKLOG, start_everything)
        assert len(early.runs) == _BACKLOG - reserved < _BACKLOG
        assert not early.more
        assert early.next_due is not None
        assert early.next_due - NOON <= timedelta(seconds=1)
        await _end_reservations(store)
        late = await store.claim_due(NOON, NODE, _BACKLOG, start_everything)
        assert {each.task.id for each in (*early.runs, *late.runs)} == set(task_ids)
        assert len(late.runs) == reserved
        assert await store.next_due() is None


async def test_a_claim_of_few_entries_killed_before_its_commit_leaves_them_claimable(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        await store.join(a_node())
        # The first claim of a deployment reserves: there is no token yet.
        await _add_tasks(store, 1)
        await store.claim_due(NOON, NODE, 10, start_everything)
        task_ids = await _add_tasks(store, 3)
        await _kill_claim(redis_url)
        claim = await store.claim_due(NOON, NODE, 10, start_everything)
        assert [each.task.id for each in claim.runs] == task_ids
        assert await store.next_due() is None


async def test_a_claim_of_few_entries_writes_once(redis_url: str) -> None:
    async with _opened(redis_url) as store:
        await store.join(a_node())
        await _add_tasks(store, 1)
        await store.claim_due(NOON, NODE, 10, start_everything)
        await _add_tasks(store, 5)
        seen: list[str] = []
        connections = store._connections
        run_script = connections.run_script

        async def run_read_only(name: str, keys: Sequence[str], values: Sequence[Any]) -> Any:
            seen.append(name)
            if name == "commit":
                return await run_script(name, keys, values)
            return await connections.call("EVAL_RO", load_script(name).text, len(keys), *keys, *values)

        vars(connections)["run_script"] = run_read_only
        claim = await store.claim_due(NOON, NODE, 10, start_everything)
        assert len(claim.runs) == 5
        assert seen == ["reserve", "commit"]


async def test_a_claim_of_few_entries_that_is_overtaken_starts_nothing_twice(redis_url: str) -> None:
    """Another node claims them between the read and the commit; the tokens of both differ."""
    async with _opened(redis_url) as slow, _opened(redis_url) as fast:
        await slow.join(a_node())
        await _add_tasks(slow, 1)
        before = await slow.claim_due(NOON, NODE, 10, start_everything)
        task_ids = await _add_tasks(slow, 2)
        claims: list[Claim] = []

        async def overtake() -> None:
            claims.append(await fast.claim_due(NOON, NODE, 1, start_everything))

        _before_first_commit(slow, overtake)
        late = await slow.claim_due(NOON, NODE, 10, start_everything)
        runs = [each.run for claim in (before, claims[0], late) for each in claim.runs]
        assert [run.task_id for run in runs[1:]] == task_ids
        tokens = [run.token for run in runs]
        assert all(one < other for one, other in pairwise(tokens))


async def test_claims_of_few_entries_in_one_process_take_turns(redis_url: str) -> None:
    """None is overtaken, so nothing is decided twice."""
    async with _opened(redis_url) as store:
        await store.join(a_node())
        await _add_tasks(store, 1)
        await store.claim_due(NOON, NODE, 10, start_everything)
        task_ids = await _add_tasks(store, 3)
        decided: list[str] = []

        def start(facts: Facts, entry: Entry, token: int) -> Change:
            decided.append(facts.task.id)
            return start_everything(facts, entry, token)

        claims = await asyncio.gather(*(store.claim_due(NOON, NODE, 2, start) for _ in range(3)))
        assert sorted(decided) == sorted(task_ids)
        assert sorted(len(claim.runs) for claim in claims) == [0, 1, 2]


async def test_a_claim_of_few_entries_over_a_failover_takes_a_token_of_the_next_epoch(redis_url: str) -> None:
    """The server that lost the last tokens may have the counter that was read, and another has given the same token away."""
    async with _opened(redis_url) as store:
        await store.join(a_node())
        await _add_tasks(store, 1)
        before = await store.claim_due(NOON, NODE, 10, start_everything)
        await _add_tasks(store, 1)

        async def fail_over() -> None:
            await store._connections.call("HSET", _KEYS.tokens, "replid", "another")

        _before_first_commit(store, fail_over)
        after = await store.claim_due(NOON, NODE, 10, start_everything)
        assert [each.run.token >> 40 for each in (*before.runs, *after.runs)] == [1, 2]


async def test_a_claim_whose_reservation_has_ended_starts_nothing_twice(redis_url: str) -> None:
    """Another node claims the same entries between its reservation and its commit."""
    async with _opened(redis_url) as slow, _opened(redis_url) as fast:
        await slow.join(a_node())
        task_ids = await _add_tasks(slow, 2)
        claims: list[Claim] = []

        async def overtake() -> None:
            await _end_reservations(fast)
            claims.append(await fast.claim_due(NOON, NODE, 10, start_everything))

        _before_first_commit(slow, overtake)
        late = await slow.claim_due(NOON, NODE, 10, start_everything)
        assert [each.task.id for each in claims[0].runs] == task_ids
        assert (late.runs, late.decided, late.next_due) == ((), 0, None)
        stale = await slow.settle([a_settlement(each.run) for each in claims[0].runs], succeed)
        assert stale == frozenset()


async def test_an_entry_that_is_dropped_while_it_is_reserved_does_not_start(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        await store.join(a_node())
        dropped, kept = await _add_tasks(store, 2)

        async def drop() -> None:
            assert await other.change(dropped, None, always(Change(dropped=(NEXT_SLOT,)))) is not None

        _before_first_commit(store, drop)
        claim = await store.claim_due(NOON, NODE, 10, start_everything)
        assert [each.task.id for each in claim.runs] == [kept]
        assert await store.next_due() is None


async def test_a_node_that_is_recovered_while_it_decides_claims_nothing(redis_url: str) -> None:
    async with _opened(redis_url) as store, _opened(redis_url) as other:
        await store.join(a_node())
        await _add_tasks(store, 1)

        async def recover() -> None:
            assert await other.recover(NODE, 0, lose, 10) == 0

        _before_first_commit(store, recover)
        claim = await store.claim_due(NOON, NODE, 10, start_everything)
        assert claim.runs == ()
        assert await store.next_due() == NOON


async def test_tokens_rise_after_a_failover_that_lost_the_last_ones(redis_url: str) -> None:
    """The new server has another replication id, so the epoch rises, and with it every token."""
    async with _opened(redis_url) as store:
        await store.join(a_node())
        tokens = []
        for _ in range(3):
            await _add_tasks(store, 1)
            claim = await store.claim_due(NOON, NODE, 10, start_everything)
            tokens += [each.run.token for each in claim.runs]
            await store._connections.call("HSET", _KEYS.tokens, "counter", 0, "replid", "another")
        assert len(tokens) == 3
        assert all(before < after for before, after in pairwise(tokens))


async def test_nodes_at_one_lane_never_take_more_than_its_slots(redis_url: str) -> None:
    """Claims and settlements of three handles at once."""
    async with _opened(redis_url) as first, _opened(redis_url) as second, _opened(redis_url) as third:
        await first.join(a_node())
        await first.set_lane("press", 2)
        tasks = [a_task(owner=f"owner-{place % 3}", lane="press") for place in range(24)]
        await first.add([a_new_task(task, entries=[an_entry(task, due=NOON)]) for task in tasks])
        started: list[str] = []

        async def work(store: RedisStore) -> None:
            while len(started) < len(tasks):
                claim = await store.claim_due(NOON, NODE, 10, start_within_lanes())
                started.extend(each.task.id for each in claim.runs)
                facts = await store.facts(tasks[0].id, None)
                assert facts is not None
                assert facts.lanes[0].used <= facts.lanes[0].limit == 2
                assert not await store.settle([a_settlement(each.run) for each in claim.runs], succeed)

        await asyncio.wait_for(asyncio.gather(*map(work, (first, second, third))), 60)
        assert sorted(started) == sorted(task.id for task in tasks)
        assert await first.next_due() is None


async def _kill_claim(url: str) -> None:
    """Run a claim in a process that is killed between the read and the commit."""
    killed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _DYING_CLAIM, url], check=False, capture_output=True
    )
    assert killed.returncode == -SIGKILL, killed.stderr


def _before_first_commit(store: RedisStore, action: Callable[[], Awaitable[None]]) -> None:
    """Run an action of another client before the first commit of this store."""
    connections = store._connections
    run_script = connections.run_script
    is_first = True

    async def run_after(name: str, keys: Sequence[str], values: Sequence[Any]) -> Any:
        nonlocal is_first
        if name == "commit" and is_first:
            is_first = False
            await action()
        return await run_script(name, keys, values)

    vars(connections)["run_script"] = run_after
