"""Nodes as an operator sees them, and drain."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.errors import Conflict, NotFound
from horae.ports.node_records import make_lease_record
from horae.ports.store import DEFAULT_TERMS
from horae.service.runs.nodes import NodeState
from horae.testing.factories import MICROSECOND, NODE, NOON, SECOND, a_node
from horae.wire.overview import node_seen_json
from tests.unit.service.service_harness import ROOT, open_harness

LEASE = DEFAULT_TERMS.lease


async def test_node_is_live_until_its_lease_expires() -> None:
    async with open_harness() as harness:
        await harness.store.join(a_node())
        for ago, state in ((LEASE, NodeState.LIVE), (MICROSECOND, NodeState.SILENT)):
            harness.advance(ago)
            (seen,) = await harness.service.nodes.all(ROOT)
            assert (seen.state, seen.ago, seen.node.id) == (state, harness.clock.now() - NOON, NODE)


async def test_lease_length_is_that_of_the_deployment() -> None:
    async with open_harness() as harness:
        await harness.store.put_record(make_lease_record(timedelta(minutes=2)), replacing=None)
        await harness.store.join(a_node())
        harness.advance(timedelta(minutes=2))
        assert [seen.state for seen in await harness.service.nodes.all(ROOT)] == [NodeState.LIVE]
        harness.advance(SECOND)
        assert [seen.state for seen in await harness.service.nodes.all(ROOT)] == [NodeState.SILENT]


async def test_node_of_a_dead_process_is_silent_at_once() -> None:
    async with open_harness() as harness:
        await harness.store.join(a_node("a", home="here/1"))
        await harness.store.join(a_node("b", home="gone/1", draining=True))
        seen = await harness.service.nodes.all(ROOT, lambda home: "gone" in home)
        assert [each.state for each in seen] == [NodeState.LIVE, NodeState.SILENT]


async def test_drain_is_stored_and_all_nodes_are_notified() -> None:
    async with open_harness() as harness:
        await harness.store.join(a_node("nod_1a", host="north"))
        await harness.store.join(a_node("nod_2b", host="north"))
        nodes = harness.service.nodes
        assert (await nodes.drain(ROOT, "nod_1")).id == "nod_1a"
        assert harness.writes == [None]
        assert [seen.state for seen in await nodes.all(ROOT)] == [NodeState.DRAINING, NodeState.LIVE]
        assert not (await nodes.drain(ROOT, "nod_1a", draining=False)).draining
        assert [seen.state for seen in await nodes.all(ROOT)] == [NodeState.LIVE] * 2


async def test_drain_of_a_host_drains_its_nodes_only() -> None:
    async with open_harness() as harness:
        for name, host in (("nod_1", "north"), ("nod_2", "south"), ("nod_3", "north")):
            await harness.store.join(a_node(name, host=host))
        told = await harness.service.nodes.drain_host(ROOT, "north")
        assert [node.id for node in told] == ["nod_1", "nod_3"]
        assert [node.draining for node in await harness.store.nodes()] == [True, False, True]
        with pytest.raises(NotFound, match="nort"):
            await harness.service.nodes.drain_host(ROOT, "nort")


async def test_ambiguous_node_id_prefix_is_refused() -> None:
    async with open_harness() as harness:
        for name in ("nod_1", "nod_12", "nod_13"):
            await harness.store.join(a_node(name))
        with pytest.raises(Conflict) as several:
            await harness.service.nodes.drain(ROOT, "nod_")
        assert several.value.code == "several_nodes"
        assert "nod_12" in several.value.message
        assert (await harness.service.nodes.drain(ROOT, "nod_1")).id == "nod_1"
        for absent in ("", "nod_9", "od_1", "\x00", "n" * 500):
            with pytest.raises(NotFound) as nothing:
                await harness.service.nodes.drain(ROOT, absent)
            assert nothing.value.code == "no_such_node"
        assert harness.writes == [None]


async def test_all_fields_of_a_node_are_returned() -> None:
    async with open_harness() as harness:
        node = a_node(host="north", load=3, capacity=10, offset=timedelta(milliseconds=-1500), draining=True)
        await harness.store.join(node)
        harness.advance(2 * SECOND)
        (seen,) = await harness.service.nodes.all(ROOT)
        told = node_seen_json(seen)
        assert (told["host"], told["load"], told["capacity"]) == ("north", 3, 10)
        assert (told["clock_offset_ms"], told["renewed_ago_ms"]) == (-1500, 2000)
        assert (told["state"], told["draining"]) == ("draining", True)
