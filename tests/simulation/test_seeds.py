"""Seeded days of small clusters, each with its own tasks, people and faults: every guarantee holds in all of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.simulation.__main__ import main
from tests.simulation.coverage import Coverage
from tests.simulation.trial import attempt, attempt_all, fingerprint
from tests.sizes import sized

CHUNK = 50
"""Each chunk alone meets every pair of policies, so that more chunks find rarer orders of events only."""
SEEDS = sized(2 * CHUNK, soak=10 * CHUNK)
CHUNKS = [range(first, first + CHUNK) for first in range(0, SEEDS, CHUNK)]


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_every_guarantee_holds_and_every_pair_of_policies_is_met(
    seeds: range, record_property: Callable[[str, object], None]
) -> None:
    coverage = Coverage()
    failed = list(attempt_all(seeds, coverage))
    record_property("coverage", coverage.packed())
    assert not failed, "\n" + "\n".join(str(trial) for trial in failed)
    missing = coverage.missing()
    assert not missing, f"never met: {missing}"


def test_the_same_seed_is_the_same_story_to_the_last_character() -> None:
    """Also in another process, where sets and dictionaries of texts are ordered differently."""
    expected = fingerprint(attempt(11).evidence)
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", "tests.simulation", "--seed", "11"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert f"fingerprint {expected}" in told


def test_another_seed_is_another_story() -> None:
    assert fingerprint(attempt(11).evidence) != fingerprint(attempt(12).evidence)


def test_a_replay_tells_what_happened(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--verbose"]) == 0
    told = capsys.readouterr().out
    assert "n1.1: starts" in told
    assert "a crash" in told
    assert "run.started" in told


def test_many_seeds_end_with_what_they_covered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0-1"]) == 0
    told = capsys.readouterr().out
    assert "missed x overlap" in told
    assert "2 seeds, 0 failed" in told
