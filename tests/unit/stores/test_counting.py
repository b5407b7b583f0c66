"""What a request adds to the running counts."""

from __future__ import annotations

from horae.model.task import FRESH, Standing, TaskState
from horae.stores.counter_deltas import Counting

_HOUR = 3_600_000_000


def test_however_often_it_is_asked_for_it_is_the_same() -> None:
    counting = Counting()
    counting.count_new_task("ada")
    counting.count_success("ada", (0, "succeeded", None, _HOUR, _HOUR), _HOUR, FRESH, Standing(TaskState.COMPLETED))
    assert dict(counting.total_deltas()) == dict(counting.total_deltas())
    assert sum(counting.total_deltas().values()) == 3
