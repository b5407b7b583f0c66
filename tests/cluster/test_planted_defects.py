"""Checker against planted defects on database servers, including a node that takes a live node for dead."""

from __future__ import annotations

from datetime import timedelta

from tests.cluster.injected_faults import InjectedFault, unprovoked
from tests.cluster.scenario import LEASE, LOCAL_NODE, ON_SQL_SERVERS, last_instant, started
from tests.faults import test_planted_defects as on_a_file
from tests.faults.client import add, from_now
from tests.faults.ledger import read
from tests.faults.processes import Workers
from tests.faults.scenario import TIMEOUT, one_shot
from tests.faults.store_snapshot import read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until

pytestmark = ON_SQL_SERVERS


def test_checker_detects_forgotten_retry(testbed: Testbed, workers: Workers) -> None:
    on_a_file.test_checker_detects_defect_after_kill(testbed, workers, "the recovery forgets the retry", "dropped")


def test_checker_detects_written_stale_settlement(testbed: Testbed, workers: Workers) -> None:
    on_a_file.test_checker_detects_stale_settlement_after_thaw(testbed, workers)


def test_checker_detects_takeover_from_live_node(testbed: Testbed, workers: Workers) -> None:
    began = from_now(0)
    victim = workers.ready(**LOCAL_NODE)
    (due,) = add(testbed, one_shot("awaited", {"gate": "done"}))
    wait_until(started(testbed, due), TIMEOUT, "the start")
    workers.ready(defect="a live node is taken for dead", **LOCAL_NODE)
    wait_until(started(testbed, due, 2), TIMEOUT, "the takeover")
    testbed.open_gate("done")
    wait_until_quiet(testbed, last_instant(due), TIMEOUT)
    marks, snapshot, patience = read(testbed.ledger), read_snapshot(testbed), timedelta(seconds=LEASE)
    assert [sentence.partition(":")[0] for sentence in unprovoked([], marks, snapshot, patience)][:1] == ["unprovoked"]
    isolated = [InjectedFault("kill -9", victim.pid + 1, began, from_now(0))]
    assert list(unprovoked(isolated, marks, snapshot, patience))
    deserved = [InjectedFault("kill -9", pid, began, from_now(0)) for pid in {mark.pid for mark in marks}]
    assert list(unprovoked(deserved, marks, snapshot, patience)) == []
