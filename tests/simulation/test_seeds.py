"""Simulated days of small clusters with random tasks, clients and faults: every guarantee holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.simulation.__main__ import main
from tests.simulation.coverage import Coverage
from tests.simulation.trial import fingerprint, run_seed, run_seeds
from tests.sizes import sized

CHUNK = 50
"""Each chunk alone meets every pair of policies, so that more chunks find rarer orders of events only."""
SEEDS = sized(CHUNK, soak=10 * CHUNK)
CHUNKS = [range(first, first + CHUNK) for first in range(0, SEEDS, CHUNK)]


@pytest.mark.long
@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_every_guarantee_holds_and_every_pair_of_policies_is_met(
    seeds: range, record_property: Callable[[str, object], None]
) -> None:
    coverage = Coverage()
    failed = list(run_seeds(seeds, coverage))
    record_property("coverage", coverage.packed())
    assert not failed, "\n" + "\n".join(str(trial) for trial in failed)
    missing = coverage.missing()
    assert not missing, f"never met: {missing}"


def test_equal_seeds_have_equal_histories() -> None:
    """Also in another process, where sets and dictionaries of texts are ordered differently."""
    expected = fingerprint(run_seed(11).evidence)
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--seed", "11"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert f"fingerprint {expected}" in told


def test_different_seeds_have_different_histories() -> None:
    assert fingerprint(run_seed(11).evidence) != fingerprint(run_seed(12).evidence)


def test_replay_prints_the_history(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--verbose"]) == 0
    told = capsys.readouterr().out
    assert "n1.1: starts" in told
    assert "a crash" in told
    assert "run.started" in told


def test_many_seeds_print_their_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0-1"]) == 0
    told = capsys.readouterr().out
    assert "missed x overlap" in told
    assert "2 seeds, 0 failed" in told
