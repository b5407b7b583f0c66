"""Exhaustive exploration of small scopes keeps every invariant, and finds each planted defect."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from random import Random

import pytest

from tests.simulation.explorer import SCOPES, Scope, explore
from tests.simulation.explorer.rules import TRUE_RULES
from tests.simulation.explorer.world import State, World
from tests.simulation.explorer_defects import DEFECTS, Defect
from tests.simulation.explorer_walk import Walk

_BY_NAME = {scope.name: scope for scope in SCOPES}


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.name)
def test_every_order_of_events_keeps_the_invariants(
    scope: Scope, record_property: Callable[[str, object], None]
) -> None:
    exploration = explore(scope)
    assert exploration.found is None, str(exploration)
    assert exploration.states > 4_000, "so few states cannot be all of them"
    record_property("explored", str(exploration))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_planted_defect_is_found_with_the_fewest_moves(defect: Defect) -> None:
    exploration = explore(_BY_NAME[defect.scope]._replace(faults=1), defect.rules)
    assert exploration.found is not None, str(exploration)
    assert defect.broken in exploration.found.broken, str(exploration.found)
    assert len(exploration.found.moves) == defect.moves, str(exploration.found)


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: scope.name)
def test_canonical_state_behaves_like_the_full_store(scope: Scope) -> None:
    """The store of the explorer forgets instants, tokens and renewals after each call; an ordinary one does not."""
    walks = [Walk(scope, Random(seed)) for seed in range(20)]
    for walk in walks:
        for _ in range(80):
            walk.step()
    assert sum(walk.runs for walk in walks) > len(walks)


def test_mirrored_states_are_equivalent() -> None:
    """Looking at both of two states that differ only in the names of the nodes finds nothing that looking at one does not."""
    world = World(_BY_NAME["lane"]._replace(faults=1), TRUE_RULES)
    everything = _reached(world, mirrored=False)
    one_of_two = _reached(world, mirrored=True)
    assert {world.canonical(state) for state in everything} == one_of_two
    assert len(one_of_two) < 0.6 * len(everything)


def _reached(world: World, *, mirrored: bool) -> set[State]:
    reached, front = {world.beginning}, [world.beginning]
    while front:
        for _, after, _ in world.moves(front.pop()):
            state = world.canonical(after) if mirrored else after
            if state not in reached:
                reached.add(state)
                front.append(state)
    return reached


def test_explorer_command_prints_the_number_of_states() -> None:
    command = [sys.executable, "-m", "tests.simulation.explorer", "--scope", "overlap-queue", "--faults", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "overlap-queue: a recurring task" in done.stdout
    assert re.search(r"\d+ states, [\d,]+ transitions", done.stdout)
