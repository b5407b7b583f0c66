"""Functions that take their node with them, one after the other: each ends in quarantine, the neighbours go on (F12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from tests.faults import hostile_functions as hostile
from tests.faults.hostile_functions import name_of
from tests.faults.hostile_scene import LATE_SECONDS, Case, Stage, Window, stage
from tests.faults.scene import Measure

KILLERS: Final = [name_of(each, "thread") for each in (hostile.leaves_at_once, hostile.breaks_memory)]
"""What kills its process with a signal is in `test_poison.py`."""
DEATHS: Final = 2


class Played(NamedTuple):
    stage: Stage
    window: Window


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with stage(tmp_path_factory.mktemp("killers"), supervised=True) as made:
        windows = [made.play([Case(name, name, "failed", "quarantined")]) for name in KILLERS]
        yield Played(made, Window(windows[0].first, windows[-1].last))


@pytest.mark.parametrize("name", KILLERS)
def test_each_is_tried_twice_then_alone_and_quarantined(played: Played, name: str) -> None:
    ends = [(end.state, end.reason) for end in played.stage.ends()[name]]
    assert ends == [("lost", "lease_lost")] * DEATHS + [("failed", "quarantined")]


def test_the_node_died_twice_for_each_and_never_again(played: Played) -> None:
    assert len(played.stage.nodes) == 1 + DEATHS * len(KILLERS)
    assert played.stage.node.alive


def test_every_instant_of_the_neighbours_was_served_once_and_hardly_later_than_the_restart(
    played: Played, measured: Measure
) -> None:
    assert played.stage.unserved(played.window) == []
    late = played.stage.latest_start(played.window)
    measured("hostile killers, neighbours' worst lateness", late)
    measured("hostile killers, time without a process, all deaths together", played.stage.down)
    assert late <= played.stage.down + LATE_SECONDS


def test_nothing_is_left_behind(played: Played) -> None:
    assert played.stage.left_behind() == []
    played.stage.node.end()
