"""Trace ids follow from the run: one trace per occurrence, one span per attempt."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from horae.model.ids import first_traceparent, run_id, trace_id, traceparent
from horae.model.run import Origin, Run, RunState

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def a_run(planned: datetime, attempt: int) -> Run:
    name = run_id("tsk_1", Origin.SCHEDULED, planned, attempt)
    return Run(name, "tsk_1", "ada", Origin.SCHEDULED, planned, planned, attempt, RunState.RUNNING)


def test_attempts_share_a_trace_and_occurrences_do_not() -> None:
    first, second = a_run(NOW, 1), a_run(NOW, 2)
    assert trace_id(first) == trace_id(second) != trace_id(a_run(NOW + timedelta(seconds=1), 1))
    assert traceparent(first) != traceparent(second)
    for run in (first, second):
        assert re.fullmatch(rf"00-{trace_id(run)}-[0-9a-f]{{16}}-01", traceparent(run))
        assert re.fullmatch(r"[0-9a-f]{32}", trace_id(run))


def test_trace_of_the_first_attempt_is_known_before_the_run() -> None:
    run = a_run(NOW, 1)
    assert run.id == run_id(run.task_id, Origin.SCHEDULED, NOW, 1)
    assert first_traceparent(run.task_id, Origin.SCHEDULED, NOW) == traceparent(run)
