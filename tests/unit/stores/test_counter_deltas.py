"""Counter deltas of a request."""

from __future__ import annotations

from horae.model.change import Success
from horae.model.task import NEW_TASK_STATUS, TaskState
from horae.stores.counter_deltas import CounterDeltas
from horae.testing.factories import a_task, an_ended_run


def test_total_deltas_is_idempotent() -> None:
    deltas = CounterDeltas()
    deltas.count_new_task("ada")
    run = an_ended_run(a_task())
    completed = NEW_TASK_STATUS._replace(state=TaskState.COMPLETED)
    deltas.count_success(run, Success(run.started, run.planned, None, completed))
    assert dict(deltas.total_deltas()) == dict(deltas.total_deltas())
    assert sum(deltas.total_deltas().values()) == 3
