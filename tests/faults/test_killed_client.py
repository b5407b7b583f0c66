"""Client killed while it adds tasks: every acknowledged batch is there, and no batch is there in part."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Final

import pytest

from horae.clock import SystemClock
from tests.faults.adder import BATCH
from tests.faults.processes import ROOT
from tests.faults.store_snapshot import check_store, query
from tests.faults.testbed import Testbed

_BATCHES: Final = "SELECT json_extract(payload, '$.gate'), count(*) FROM tasks GROUP BY payload"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_acknowledged_tasks_survive_kill_of_the_adding_process(testbed: Testbed, seed: int) -> None:
    chance = random.Random(seed)
    with subprocess.Popen(
        (sys.executable, "-m", "tests.faults.adder", testbed.url), stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as adder:
        assert adder.stdout is not None
        acknowledged = [adder.stdout.readline().strip()]
        SystemClock().sleep(chance.random() * 0.3)
        adder.kill()
        acknowledged += adder.stdout.read().split("\n")[:-1]
    there = dict(query(testbed, _BATCHES))
    assert acknowledged[0] == "batch 0"
    assert set(acknowledged) <= there.keys()
    # At most one batch more: committed, and killed before it printed.
    assert len(there) <= len(acknowledged) + 1
    assert set(there.values()) == {BATCH}
    assert check_store(testbed) == ()
