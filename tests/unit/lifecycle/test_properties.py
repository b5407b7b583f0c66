"""Random lifecycles: every instant is accounted for once, nothing is stuck, ended tasks stay ended."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.lifecycle.task_steps import Chosen, Step, live
from tests.unit.lifecycle.task_strategies import chosen, steps


@settings(max_examples=400, deadline=None)
@given(chosen, st.lists(st.tuples(steps, chosen), max_size=40))
def test_random_operations_keep_the_invariants(first: Chosen, happening: list[tuple[Step, Chosen]]) -> None:
    live(first, happening)
