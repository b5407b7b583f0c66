"""Hypothesis state machine: makes the same calls on a store and on the in-memory store and compares every answer.

The decisions are those of the lifecycle package. Where the ports leave an order open, the machine requires one, because
decisions see it: entries of equal rank by creation of their task, then by slot; in the facts entries by slot, live runs
by id, and a task's own lane before its owner's.

A subclass implements `open_empty`; `run_state_machine_as_test`, or the class's `TestCase`, runs it.
"""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from ....lifecycle.control import edit
from ....lifecycle.plan import Draft
from ....model.change import Change, Facts
from ....model.outcome import Outcome
from ....stores.memory import MemoryStore
from ...factories import NOON
from .gate_rules import GateRules
from .paired_stores import PairedStores
from .read_rules import ReadRules
from .record_rules import RecordRules
from .strategies import (
    NODES,
    backward_steps,
    drafts,
    numbers,
    outcomes,
    steps,
)

_MANY_REPEATS: Final = 1_000


class StoreMachine(GateRules, ReadRules, RecordRules):
    """Random operations of a deployment, applied to both stores."""

    @initialize(wanted=st.lists(drafts, min_size=2, max_size=6))
    def begin(self, wanted: list[Draft]) -> None:
        self._handles = [self._run(self.open_empty())]
        self._stores = PairedStores(MemoryStore(), self._handles[0], is_optimistic=self.is_optimistic)
        self.join(NODES[0])
        self.add([draft._replace(key=None) for draft in wanted])

    def teardown(self) -> None:
        for store in self._handles:
            self._run(self.close(store))
        self._runner.close()

    # --- time ----------------------------------------------------------------------------------------------------

    @rule(step=steps)
    def advance_clock(self, step: timedelta) -> None:
        self._now += step

    @rule(step=steps, results=st.lists(outcomes, max_size=4))
    def advance_clock_and_run(self, step: timedelta, results: list[Outcome]) -> None:
        self._now += step
        self.run_next_due(results)

    @rule(step=backward_steps)
    def step_clock_back(self, step: timedelta) -> None:
        self._now = max(NOON, self._now - step)

    @rule(number=numbers, back=backward_steps)
    def replay_past_instants(self, number: int, back: timedelta) -> None:
        """Step the clock back and plan the same instants again: their runs exist already."""
        now = self._now = max(NOON, self._now - back)

        def decide(facts: Facts) -> Change:
            schedule = replace(facts.task.schedule, repeat=None if facts.task.schedule.repeat else _MANY_REPEATS)
            return edit.edit(facts, facts.task._replace(schedule=schedule), now)

        self._change(number, decide)
        self.run_next_due([])

    # --- handles -------------------------------------------------------------------------------------------------

    @rule()
    def toggle_second_handle(self) -> None:
        """Open a second handle, or close it."""
        if len(self._handles) == 1:
            self._handles.append(self._run(self.another(self._handles[0])))
        else:
            other = self._handles.pop()
            if other is not self._handles[0]:
                self._run(self.close(other))

    @rule()
    def reopen(self) -> None:
        """Replace the first handle by a new one: acknowledged writes must be there."""
        old = self._handles[0]
        new = self._run(self.another(old))
        if new is not old:
            self._run(self.close(old))
            self._handles[0] = self._stores.store.store = new

    # --- invariants ----------------------------------------------------------------------------------------------

    @invariant()
    def stores_are_equal(self) -> None:
        found = self._run(self._stores.read_all(self._now))
        assert found["doubts"] == ()
        live = Counter((run.task_id, run.origin, run.planned) for run in found["runs"] if run.live)
        assert [occurrence for occurrence, times in live.items() if times > 1] == []
