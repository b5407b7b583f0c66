"""Nodes that start at the same moment on an empty store: all of them become ready."""

from __future__ import annotations

from tests.cluster.scenario import LOCAL_NODE, effects, last_instant, once_per_instant
from tests.faults.client import add
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, one_shot, violations
from tests.faults.store_snapshot import wait_until_quiet
from tests.faults.testbed import Testbed

TOGETHER = 4


def test_nodes_start_together_on_an_empty_store(testbed: Testbed, workers: Workers) -> None:
    nodes = [workers.start(**LOCAL_NODE) for _ in range(TOGETHER)]
    for node in nodes:
        node.expect("ready")
    due = add(testbed, *(one_shot() for _ in range(10)))
    wait_until_quiet(testbed, last_instant(*due), TIMEOUT)
    assert violations(testbed, *due) == []
    assert effects(testbed) == once_per_instant(*due)
