"""The checker can fail: a worker with a planted defect turns it red, with the word for what was broken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.faults.client import EVERYTHING, Wanted, add, soon
from tests.faults.evidence import until_quiet
from tests.faults.oracle import Due, Series
from tests.faults.place import Place, until
from tests.faults.processes import Workers
from tests.faults.scene import LONG, freeze, has, judged, one, thaw_after_three_leases


def red(place: Place, *due: Due) -> set[str]:
    until_quiet(place, max(each.instants[-1] for each in due), LONG)
    return {sentence.partition(":")[0] for sentence in judged(place, *due)}


@pytest.mark.parametrize(
    ("defect", "word"),
    [
        ("the claim forgets the next occurrence", "lost"),
        ("the claim leaves the entry", "repeated"),
        ("the claim comes early", "early"),
        ("the settlement drops the next occurrence", "lost"),
    ],
)
def test_in_ordinary_life(place: Place, workers: Workers, defect: str, word: str) -> None:
    workers.ready(defect=defect)
    due = add(place, Wanted("note", Series(soon(1), timedelta(milliseconds=300), 4), options=EVERYTHING))
    assert word in red(place, *due)


@pytest.mark.parametrize(
    ("defect", "word"),
    [
        ("the recovery forgets the retry", "dropped"),
        ("the recovery gives no reason", "unexplained"),
        ("each attempt has a key of its own", "key"),
    ],
)
def test_after_a_death(place: Place, workers: Workers, defect: str, word: str) -> None:
    due = add(place, one("awaited", {"gate": "done"}))
    first = workers.ready(defect=defect)
    until(has(place, "start"), LONG, "the start")
    first.kill()
    place.open_gate("done")
    workers.ready(defect=defect)
    assert word in red(place, *due)


def test_after_a_thaw(place: Place, workers: Workers) -> None:
    due = add(place, one())
    sleeper = workers.ready(point="settling", defect="a stale settlement is written")
    sleeper.expect("at settling")
    workers.ready()
    frozen = freeze(sleeper, place)
    thaw_after_three_leases(sleeper, frozen)
    place.open_gate("settling")
    sleeper.expect("stale")
    assert "stale" in red(place, *due)
