"""A process that is frozen for three leases and then goes on (F11): what it says too late changes nothing."""

from __future__ import annotations

import pytest

from tests.faults.client import add, soon
from tests.faults.evidence import until_quiet
from tests.faults.orders import LEASE
from tests.faults.place import Place, until
from tests.faults.processes import Workers, is_alive
from tests.faults.scene import LONG, Measure, again, freeze, has, judged, marks, one, thaw_after_three_leases


def test_f11_a_stale_settlement_is_refused(place: Place, workers: Workers, measured: Measure) -> None:
    due = add(place, one())
    sleeper = workers.ready(point="settling")
    sleeper.expect("at settling")
    workers.ready()
    frozen = freeze(sleeper, place)
    measured("F11 taken over after", until(has(place, "effect", 2), LEASE + 2, "a peer that takes over"))
    thaw_after_three_leases(sleeper, frozen)
    place.open_gate("settling")
    assert marks(place, "effect")[0].run in sleeper.expect("stale")
    # It has joined again, and is a node like any other.
    more = add(place, one(), one())
    until_quiet(place, soon(0.3), LONG)
    assert judged(place, *due, *more) == []
    assert [mark.attempt for mark in marks(place, "effect")][:2] == [1, 2]
    sleeper.end()


@pytest.mark.parametrize("function", ["apart", "awaited"])
def test_f11_what_a_frozen_node_carried_is_stopped(
    place: Place, workers: Workers, measured: Measure, function: str
) -> None:
    due = add(place, one(function, {"gate": "done"}))
    sleeper = workers.ready()
    until(has(place, "start"), LONG, "the start")
    (first,) = marks(place, "start")
    workers.ready()
    frozen = freeze(sleeper, place)
    until(lambda: again(place), LEASE + 2, "a peer that takes over")
    until(has(place, "start", 2), LONG, "its start")
    thaw_after_three_leases(sleeper, frozen)
    if function == "apart":
        gone = until(lambda: not is_alive(first.pid), 2, "the child's death")
        measured("F11 a child's death, from the thaw", gone)
    else:
        until(has(place, "cancelled"), 2, "the end of what is no longer its own")
    place.open_gate("done")
    until_quiet(place, due[0].instants[-1], LONG)
    assert judged(place, *due) == []
    assert [mark.attempt for mark in marks(place, "effect")] == [2]
    sleeper.end()
