"""What a request adds to the running counts."""

from __future__ import annotations

from horae.stores.counter_deltas import CounterDeltas
from horae.testing.factories import a_task, an_ended_run


def test_however_often_it_is_asked_for_it_is_the_same() -> None:
    counting = CounterDeltas()
    counting.count_new_task("ada")
    counting.count_success(an_ended_run(a_task()), completed=True)
    assert dict(counting.total_deltas()) == dict(counting.total_deltas())
    assert sum(counting.total_deltas().values()) == 3
