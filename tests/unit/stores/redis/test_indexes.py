"""Indexes of documents: only what differs is written, and a name goes with the last member of what it stands for."""

from __future__ import annotations

import pytest

from horae.stores.redis.connections.connection import RedisConnections
from horae.stores.redis.layout.indexes import NOTHING, Members, Names, Place, join_members, update_indexes
from horae.stores.redis.layout.keys import Keys, planned_prefix, run_member
from horae.stores.redis.transactions.transaction import Transaction

KEYS = Keys()


async def apply(connections: RedisConnections, before: Members, after: Members) -> None:
    transaction = Transaction(connections, KEYS)
    update_indexes(transaction, before, after)
    assert await transaction.commit()


def parked(owner: str, member: str) -> Members:
    place, owners = Place(KEYS.parked("lane", owner), member), KEYS.lane_owners("lane")
    names = {Names(owners, owner, place.key), Names(KEYS.parked_lanes, "lane", owners)}
    return Members({place: 0}, frozenset(names), {Place(KEYS.live, member): owner})


async def test_names_go_with_the_last_member(redis_url: str) -> None:
    connections = RedisConnections(redis_url)
    first, second = parked("ada", "1"), parked("bob", "2")
    await apply(connections, NOTHING, join_members(first, second))
    assert await connections.call("ZRANGE", KEYS.lane_owners("lane"), 0, -1) == ["ada", "bob"]
    await apply(connections, first, NOTHING)
    assert await connections.call("ZRANGE", KEYS.lane_owners("lane"), 0, -1) == ["bob"]
    assert await connections.call("ZRANGE", KEYS.parked_lanes, 0, -1) == ["lane"]
    assert await connections.call("HGETALL", KEYS.live) == {"2": "bob"}
    await apply(connections, second, NOTHING)
    assert await connections.call("KEYS", "*") == [KEYS.commits]
    await connections.close()


@pytest.mark.parametrize("unchanged", [True, False])
async def test_only_differences_are_written(redis_url: str, unchanged: bool) -> None:  # noqa: FBT001
    connections = RedisConnections(redis_url)
    transaction = Transaction(connections, KEYS)
    before = Members({Place("a", "m"): 1})
    update_indexes(transaction, before, before if unchanged else Members({Place("a", "m"): 2}))
    assert transaction.is_empty is unchanged
    await connections.close()


def test_members_are_in_the_order_of_their_values() -> None:
    runs = [(-5, 0, "run_b"), (-5, 1, "run_a"), (3, 0, "run_a"), (3, 0, "run_b"), (10**17, 0, "run_a")]
    members = [run_member(*each) for each in runs]
    assert members == sorted(members)
    assert members[0].startswith(planned_prefix(-5))
