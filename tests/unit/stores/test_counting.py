"""What a request adds to the running counts."""

from __future__ import annotations

from horae.model.task import NEW_TASK_STATUS, TaskState, TaskStatus
from horae.stores.counter_deltas import CounterDeltas

_HOUR = 3_600_000_000


def test_however_often_it_is_asked_for_it_is_the_same() -> None:
    counting = CounterDeltas()
    counting.count_new_task("ada")
    counting.count_success(
        "ada", (0, "succeeded", None, _HOUR, _HOUR), _HOUR, NEW_TASK_STATUS, TaskStatus(TaskState.COMPLETED)
    )
    assert dict(counting.total_deltas()) == dict(counting.total_deltas())
    assert sum(counting.total_deltas().values()) == 3
