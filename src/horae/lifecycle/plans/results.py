"""Result of an execution by a station: the status with which it has ended, and its event in the log."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ...model.change import Change, Facts
from ...model.events.event import Event, EventKind
from ...model.plans.codes import Status
from ...model.plans.plan import STATION_TARGET
from ...model.reason import Reason
from ...model.run import Run, RunState
from ...model.task import Task

_STATUS_OF_STATE: Final = {
    RunState.SUCCEEDED: Status.OK,
    RunState.TIMED_OUT: Status.TIMEOUT,
    RunState.LOST: Status.NET_ERROR,
    RunState.CANCELLED: Status.PAUSE,
    RunState.SKIPPED: Status.FAILED,
}
_STATUS_OF_REASON: Final = {
    Reason.TARGET_UNKNOWN: Status.NOT_FOUND,
    Reason.TARGET_NOT_ALLOWED: Status.DENIED,
    Reason.NO_ANSWER: Status.RECEIVE_ERROR,
    Reason.NOT_CALLED: Status.SEND_ERROR,
    Reason.NO_WORKER: Status.NO_WORKER,
    Reason.WORKER_LOST: Status.NET_ERROR,
}


def contents_of(result: Any) -> tuple[Any, ...]:
    """Return the values of the content frames of a result: the content, and what the station sent after it."""
    if (
        isinstance(result, dict)
        and result.keys() - {"frames"} == {"content", "values"}
        and isinstance(result["values"], list)
    ):
        return (result["content"], *result["values"])
    return (result,)


def execution_status(run: Run) -> Status:
    """Return the status with which an execution has ended: by its reason, else by its state."""
    if run.reason in _STATUS_OF_REASON:
        return _STATUS_OF_REASON[run.reason]
    return _STATUS_OF_STATE.get(run.state, Status.ERROR)


def has_result_event(task: Task) -> bool:
    """Whether the end of a run of this task is an event of its own: it calls a station."""
    return task.target.kind == STATION_TARGET


def with_result_event(facts: Facts, run: Run, change: Change, now: datetime) -> Change:
    """Return the change with the event of the result, where the run called a station and has ended.

    Readers add the content: `detail` is only the name of the status.
    """
    if not has_result_event(facts.task):
        return change
    ended = next((each for each in change.updated_runs if each.id == run.id), run)
    if ended.live or ended.started is None or ended.reason is Reason.GATE_CHECKED:
        return change
    detail = execution_status(ended).name.lower()
    event = Event(EventKind.PLAN_RESULT, now, run.owner, run.task_id, run.id, detail)
    return change._replace(events=(*change.events, event))
