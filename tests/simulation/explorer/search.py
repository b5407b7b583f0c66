"""Breadth-first search through all reachable states: the first counterexample has the fewest moves."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.simulation.explorer.invariants import InvariantViolation
from tests.simulation.explorer.rules import TRUE_RULES, Rules
from tests.simulation.explorer.scope import Scope
from tests.simulation.explorer.world import State, World


class Counterexample(NamedTuple):
    """Shortest sequence of moves to a violation."""

    broken: str
    moves: tuple[str, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"  {number:2}. {move}" for number, move in enumerate(self.moves, 1))
        return f"{self.broken}, after {len(self.moves)} moves:\n{steps}"


class Exploration(NamedTuple):
    scope: str
    states: int
    transitions: int
    moments: int
    found: Counterexample | None = None

    @property
    def counts(self) -> str:
        return f"{self.states:,} states, {self.transitions:,} transitions, {self.moments:,} moments of the store"

    def __str__(self) -> str:
        return f"{self.scope}: {self.counts}" if self.found is None else f"{self.scope}: {self.counts}\n{self.found}"


def explore(scope: Scope, rules: Rules = TRUE_RULES) -> Exploration:
    with _no_garbage_collection():
        return _Search(scope, rules).run()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The states all stay until the end, and nothing else is left behind: looking for garbage takes a seventh of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Search:
    def __init__(self, scope: Scope, rules: Rules) -> None:
        self._scope = scope
        self._world = World(scope, rules)
        self._states: list[State] = [self._world.beginning]
        self._numbers: dict[State, int] = {self._world.beginning: 0}
        self._came_from = array("L", [0])
        self._transitions = 0
        # Helpful moves, as pairs of numbers: whether the end can be reached is asked when all of them are known.
        self._sources = array("L")
        self._targets = array("L")

    def run(self) -> Exploration:
        number = 0
        while number < len(self._states):
            try:
                self._go_on_from(number)
            except InvariantViolation:
                return self._report(self._broken_after(number))
            number += 1
        trapped = self._first_trapped()
        if trapped is None:
            return self._report()
        story, _ = self._way_to(trapped)
        return self._report(Counterexample("from here the end cannot be reached any more", story))

    def _go_on_from(self, number: int) -> None:
        for _, reached, helpful in self._world.moves(self._states[number]):
            after = self._world.canonical(reached)
            known = self._numbers.get(after)
            if known is None:
                known = self._numbers[after] = len(self._states)
                self._states.append(after)
                self._came_from.append(number)
            self._transitions += 1
            if helpful:
                self._sources.append(number)
                self._targets.append(known)

    def _first_trapped(self) -> int | None:
        """Search backwards from the end states along helpful moves; unreached states are trapped."""
        before: list[list[int]] = [[] for _ in self._states]
        for source, target in zip(self._sources, self._targets, strict=True):
            before[target].append(source)
        reached = bytearray(len(self._states))
        front = [number for number, state in enumerate(self._states) if self._world.is_over(state)]
        while front:
            number = front.pop()
            if not reached[number]:
                reached[number] = True
                front.extend(before[number])
        place = reached.find(0)
        return None if place < 0 else place

    def _broken_after(self, number: int) -> Counterexample:
        story, state = self._way_to(number)
        try:
            tuple(self._world.moves(state))
        except InvariantViolation as broken:
            return Counterexample(str(broken), (*story, self._world.stage.under_way))
        raise AssertionError("what was broken once was not broken again")

    def _way_to(self, number: int) -> tuple[tuple[str, ...], State]:
        """The moves from the initial state, with stable node names, and the state that they lead to."""
        way = [number]
        while way[-1]:
            way.append(self._came_from[way[-1]])
        story: list[str] = []
        state = self._world.beginning
        for step in reversed(way[:-1]):
            moves = self._world.moves(state)
            told, state = next((told, to) for told, to, _ in moves if self._world.canonical(to) == self._states[step])
            story.append(told)
        return tuple(story), state

    def _report(self, found: Counterexample | None = None) -> Exploration:
        moments = len(self._world.stage.moments)
        return Exploration(self._scope.name, len(self._states), self._transitions, moments, found)
