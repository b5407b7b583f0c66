"""A node that cannot reach its store (F9): it stops what it carries before a peer begins it again, and comes back."""

from __future__ import annotations

import pytest

from tests.cluster.scene import FAR, LEASE, NEAR, ON_SERVERS, effects, last_of, once_each, started
from tests.faults.client import add
from tests.faults.evidence import until_quiet
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, has, judged, marks, one
from tests.servers.proxy import Proxy

pytestmark = ON_SERVERS


@pytest.mark.parametrize("how", ["cut", "half_open"])
def test_f9_a_node_is_cut_off(
    place: Place, workers: Workers, proxy: Proxy, behind: str, measured: Measure, how: str
) -> None:
    far = workers.ready(url=behind, **FAR)
    (due,) = add(place, one("awaited", {"gate": "done"}))
    until(started(place, due), LONG, "the start")
    near = workers.ready(**NEAR)
    (proxy.cut if how == "cut" else proxy.half_open)()
    measured(f"F9 {how}, to letting go", until(has(place, "cancelled"), LEASE, "the end of what it cannot hold"))
    measured(
        f"F9 {how}, from then on to the takeover", until(started(place, due, 2), LEASE + 1, "a peer that takes over")
    )
    (stopped,) = marks(place, "cancelled")
    assert stopped.instant < marks(place, "start")[1].instant
    place.open_gate("done")
    until_quiet(place, last_of(due), LONG)
    proxy.heal()
    near.end()
    # It has joined again, and is a node like any other.
    more = add(place, one(), one())
    until_quiet(place, last_of(*more), LONG)
    assert judged(place, due, *more) == []
    assert effects(place) == once_each(due, *more)
    assert {mark.pid for mark in marks(place, "effect") if mark.task != due.task} == {far.pid}
