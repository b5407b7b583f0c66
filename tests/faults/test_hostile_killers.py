"""Functions that kill their node (F12): each ends in quarantine, and neighbour tasks continue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from tests.faults import hostile_functions as hostile
from tests.faults.hostile_functions import name_of
from tests.faults.hostile_harness import LATE_SECONDS, Case, HostileHarness, Window, harness
from tests.faults.scenario import Measure

KILLERS: Final = [name_of(each, "thread") for each in (hostile.exits_process, hostile.segfaults)]
"""`test_poison.py` covers a kill by a signal."""
DEATHS: Final = 2


class Results(NamedTuple):
    harness: HostileHarness
    window: Window


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    with harness(tmp_path_factory.mktemp("killers"), supervised=True) as made:
        windows = [made.run_cases([Case(name, name, "failed", "quarantined")]) for name in KILLERS]
        yield Results(made, Window(windows[0].first, windows[-1].last))


@pytest.mark.parametrize("name", KILLERS)
def test_killer_is_quarantined_after_two_lost_attempts_and_one_isolated(results: Results, name: str) -> None:
    ends = [(end.state, end.reason) for end in results.harness.ends()[name]]
    assert ends == [("lost", "lease_lost")] * DEATHS + [("failed", "quarantined")]


def test_node_dies_twice_per_killer(results: Results) -> None:
    assert len(results.harness.nodes) == 1 + DEATHS * len(KILLERS)
    assert results.harness.node.alive


def test_neighbour_instants_run_once_and_wait_at_most_for_the_restart(results: Results, measured: Measure) -> None:
    assert results.harness.find_unserved(results.window) == []
    late = results.harness.latest_start(results.window)
    measured("hostile killers, neighbours' worst lateness", late)
    measured("hostile killers, time without a process, all deaths together", results.harness.down)
    assert late <= results.harness.down + LATE_SECONDS


def test_no_process_file_or_socket_is_left(results: Results) -> None:
    assert results.harness.find_leftovers() == []
    results.harness.node.stop()
