"""The checker can fail here too: defects turn it red on a server, and so does a node that takes the living for dead."""

from __future__ import annotations

from datetime import timedelta

from tests.cluster.scene import LEASE, NEAR, ON_SERVERS, last_of, started
from tests.cluster.verdict import Hit, unprovoked
from tests.faults import test_planted_defects as on_a_file
from tests.faults.client import add, soon
from tests.faults.evidence import gather, until_quiet
from tests.faults.ledger import read
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, one

pytestmark = ON_SERVERS


def test_a_forgotten_retry_is_seen(place: Place, workers: Workers) -> None:
    on_a_file.test_after_a_death(place, workers, "the recovery forgets the retry", "dropped")


def test_a_stale_settlement_that_is_written_is_seen(place: Place, workers: Workers) -> None:
    on_a_file.test_after_a_thaw(place, workers)


def test_who_takes_the_living_for_dead_is_seen(place: Place, workers: Workers) -> None:
    began = soon(0)
    victim = workers.ready(**NEAR)
    (due,) = add(place, one("awaited", {"gate": "done"}))
    until(started(place, due), LONG, "the start")
    workers.ready(defect="the living are taken for dead", **NEAR)
    until(started(place, due, 2), LONG, "somebody who takes it over")
    place.open_gate("done")
    until_quiet(place, last_of(due), LONG)
    marks, evidence, patience = read(place.ledger), gather(place), timedelta(seconds=LEASE)
    assert [said.partition(":")[0] for said in unprovoked([], marks, evidence, patience)][:1] == ["unprovoked"]
    elsewhere = [Hit("kill -9", victim.pid + 1, began, soon(0))]
    assert list(unprovoked(elsewhere, marks, evidence, patience))
    deserved = [Hit("kill -9", pid, began, soon(0)) for pid in {mark.pid for mark in marks}]
    assert list(unprovoked(deserved, marks, evidence, patience)) == []
