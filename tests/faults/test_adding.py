"""Whoever adds tasks may be killed at any moment: what it was told is safe is there, and a batch is never half there."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Final

import pytest

from horae.clock import SystemClock
from tests.faults.adder import BATCH
from tests.faults.evidence import doubts, query
from tests.faults.place import Place
from tests.faults.processes import ROOT

_BATCHES: Final = "SELECT json_extract(payload, '$.gate'), count(*) FROM tasks GROUP BY payload"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_was_acknowledged_survives_the_death_of_whoever_added_it(place: Place, seed: int) -> None:
    chance = random.Random(seed)
    with subprocess.Popen(
        (sys.executable, "-m", "tests.faults.adder", place.url), stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as adder:
        assert adder.stdout is not None
        told = [adder.stdout.readline().strip()]
        SystemClock().sleep(chance.random() * 0.3)
        adder.kill()
        told += adder.stdout.read().split("\n")[:-1]
    there = dict(query(place, _BATCHES))
    assert told[0] == "batch 0"
    assert set(told) <= there.keys()
    # At most one more: it was written, and died before it could say so.
    assert len(there) <= len(told) + 1
    assert set(there.values()) == {BATCH}
    assert doubts(place) == ()
