"""Counter deltas of a request."""

from __future__ import annotations

from horae.stores.counter_deltas import CounterDeltas
from horae.testing.factories import a_task, an_ended_run


def test_total_deltas_is_idempotent() -> None:
    deltas = CounterDeltas()
    deltas.count_new_task("ada")
    deltas.count_success(an_ended_run(a_task()), completed=True)
    assert dict(deltas.total_deltas()) == dict(deltas.total_deltas())
    assert sum(deltas.total_deltas().values()) == 3
