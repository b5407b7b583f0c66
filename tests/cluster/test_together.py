"""Nodes that begin at the same moment on a store that nobody has opened before: each of them is let in."""

from __future__ import annotations

from tests.cluster.scene import NEAR, effects, last_of, once_each
from tests.faults.client import add
from tests.faults.evidence import until_quiet
from tests.faults.place import Place
from tests.faults.processes import Workers
from tests.faults.scene import LONG, judged, one

TOGETHER = 4


def test_nodes_begin_together(place: Place, workers: Workers) -> None:
    nodes = [workers.start(**NEAR) for _ in range(TOGETHER)]
    for node in nodes:
        node.expect("ready")
    due = add(place, *(one() for _ in range(10)))
    until_quiet(place, last_of(*due), LONG)
    assert judged(place, *due) == []
    assert effects(place) == once_each(*due)
