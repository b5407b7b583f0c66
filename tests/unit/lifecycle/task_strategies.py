"""Hypothesis strategies for random tasks and the steps of their lifecycle."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from tests.unit.lifecycle.task_steps import SCHEDULES, STEPS, Chosen, Step
from tests.unit.lifecycle.task_world import MINUTE, SECOND

chosen = st.builds(
    Chosen,
    notify_after=st.sampled_from((0, 1, 2, 3)),
    schedule=st.sampled_from(sorted(SCHEDULES)),
    overlap=st.integers(0, 4),
    mode=st.integers(0, 3),
    within=st.sampled_from([None, 90 * SECOND, 5 * MINUTE]),
    limit=st.sampled_from([1, 2, 4]),
    attempts=st.sampled_from([1, 2, 3, None]),
    backoff=st.sampled_from([timedelta(0), 40 * SECOND, 3 * MINUTE]),
    give_up_after=st.sampled_from([None, 1, 2]),
    careful=st.booleans(),
    max_duration=st.sampled_from([None, 2 * MINUTE]),
    lane=st.sampled_from([None, "lane", "other"]),
    priority=st.integers(-1, 1),
    superseded_by_next=st.booleans(),
    start_within=st.sampled_from([None, SECOND, 90 * SECOND, 5 * MINUTE]),
)
steps = st.builds(Step, st.sampled_from(list(STEPS)), st.integers(0, 5), st.integers(0, 11))
