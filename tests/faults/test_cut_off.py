"""Somebody holds the file's write lock for three leases: a node that cannot renew lets go in time, and then goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from horae.clock import SystemClock
from tests.faults.client import add, soon
from tests.faults.evidence import until_quiet
from tests.faults.orders import LEASE
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, Measure, has, judged, marks, one


@contextmanager
def locked(place: Place) -> Iterator[float]:
    """Nobody can write meanwhile, as when a process is frozen in the middle of a write; since when, on the steady clock."""
    connection = apsw.Connection(str(place.store))
    connection.set_busy_timeout(10_000)
    try:
        connection.execute("BEGIN IMMEDIATE").fetchall()
        yield SystemClock().steady()
        connection.execute("ROLLBACK").fetchall()
    finally:
        connection.close()


def test_a_node_that_cannot_renew_lets_go_and_comes_back(place: Place, workers: Workers, measured: Measure) -> None:
    workers.ready()
    due = add(place, one("awaited", {"gate": "done"}), one())
    until(has(place, "start", 2), LONG, "both starts")
    until(has(place, "end"), LONG, "the end of the short one")
    more = add(place, one(seconds=4))
    with locked(place) as since:
        stopped = until(has(place, "cancelled"), LEASE, "the end of what it can no longer hold")
        measured("F9 cut off, to letting go", stopped)
        until(lambda: SystemClock().steady() - since > 3 * LEASE, LONG, "three leases")
        assert len(marks(place, "start")) == 2
    place.open_gate("done")
    measured("F9 cut off, from the return to the next start", until(has(place, "start", 4), 5, "what is due"))
    until_quiet(place, soon(0), LONG)
    assert judged(place, *due, *more) == []
    assert len(marks(place, "effect")) == 3
