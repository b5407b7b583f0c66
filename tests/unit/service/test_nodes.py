"""Nodes as an operator sees them, and how one is let go."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import Conflict, NotFound
from horae.ports.lease_terms import make_lease_record
from horae.ports.store import DEFAULT_TERMS
from horae.service.runs.nodes import NodeState
from horae.testing.factories import MICROSECOND, NODE, NOON, SECOND, a_node
from horae.wire.overview import node_seen_json
from tests.unit.service.service_harness import ROOT, house_on

LEASE = DEFAULT_TERMS.lease


async def test_a_node_is_live_until_it_has_not_renewed_for_more_than_a_lease() -> None:
    async with house_on() as house:
        await house.store.join(a_node())
        for ago, state in ((LEASE, NodeState.LIVE), (MICROSECOND, NodeState.SILENT)):
            house.later(ago)
            (seen,) = await house.service.nodes.all(ROOT)
            assert (seen.state, seen.ago, seen.node.id) == (state, house.clock.now() - NOON, NODE)


async def test_how_long_a_lease_is_was_agreed_on() -> None:
    async with house_on() as house:
        await house.store.put_record(make_lease_record(timedelta(minutes=2)), replacing=None)
        await house.store.join(a_node())
        house.later(timedelta(minutes=2))
        assert [seen.state for seen in await house.service.nodes.all(ROOT)] == [NodeState.LIVE]
        house.later(SECOND)
        assert [seen.state for seen in await house.service.nodes.all(ROOT)] == [NodeState.SILENT]


async def test_who_is_certainly_dead_is_silent_at_once() -> None:
    async with house_on() as house:
        await house.store.join(a_node("a", home="here/1"))
        await house.store.join(a_node("b", home="gone/1", draining=True))
        seen = await house.service.nodes.all(ROOT, lambda home: "gone" in home)
        assert [each.state for each in seen] == [NodeState.LIVE, NodeState.SILENT]


async def test_a_node_is_told_to_go_and_everybody_is_rung() -> None:
    async with house_on() as house:
        await house.store.join(a_node("nod_1a", host="north"))
        await house.store.join(a_node("nod_2b", host="north"))
        nodes = house.service.nodes
        assert (await nodes.drain(ROOT, "nod_1")).id == "nod_1a"
        assert house.told == [None]
        assert [seen.state for seen in await nodes.all(ROOT)] == [NodeState.DRAINING, NodeState.LIVE]
        assert not (await nodes.drain(ROOT, "nod_1a", draining=False)).draining
        assert [seen.state for seen in await nodes.all(ROOT)] == [NodeState.LIVE] * 2


async def test_all_nodes_of_a_machine_are_told_and_no_other() -> None:
    async with house_on() as house:
        for name, host in (("nod_1", "north"), ("nod_2", "south"), ("nod_3", "north")):
            await house.store.join(a_node(name, host=host))
        told = await house.service.nodes.drain_host(ROOT, "north")
        assert [node.id for node in told] == ["nod_1", "nod_3"]
        assert [node.draining for node in await house.store.nodes()] == [True, False, True]
        with pytest.raises(NotFound, match="nort"):
            await house.service.nodes.drain_host(ROOT, "nort")


async def test_an_id_that_begins_like_several_is_refused_unless_it_is_one() -> None:
    async with house_on() as house:
        for name in ("nod_1", "nod_12", "nod_13"):
            await house.store.join(a_node(name))
        with pytest.raises(Conflict) as several:
            await house.service.nodes.drain(ROOT, "nod_")
        assert several.value.code == "several_nodes"
        assert "nod_12" in several.value.message
        assert (await house.service.nodes.drain(ROOT, "nod_1")).id == "nod_1"
        for absent in ("", "nod_9", "od_1", "\x00", "n" * 500):
            with pytest.raises(NotFound) as nothing:
                await house.service.nodes.drain(ROOT, absent)
            assert nothing.value.code == "no_such_node"
        assert house.told == [None]


async def test_all_that_is_known_of_a_node_is_told() -> None:
    async with house_on() as house:
        node = a_node(host="north", load=3, capacity=10, offset=timedelta(milliseconds=-1500), draining=True)
        await house.store.join(node)
        house.later(2 * SECOND)
        (seen,) = await house.service.nodes.all(ROOT)
        told = node_seen_json(seen)
        assert (told["host"], told["load"], told["capacity"]) == ("north", 3, 10)
        assert (told["clock_offset_ms"], told["renewed_ago_ms"]) == (-1500, 2000)
        assert (told["state"], told["draining"]) == ("draining", True)
