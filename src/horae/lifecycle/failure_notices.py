"""Failure alerts: one `task.failing` event per incident when `notify_after` is reached, one `task.recovered` at its end."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Facts
from ..model.events.event import Event, EventKind
from ..model.reason import Reason
from ..model.task import Task, TaskStatus
from .event_rows import task_event


def is_failing(task: Task, status: TaskStatus) -> bool:
    """Return whether the consecutive failures have reached `notify_after`."""
    return 0 < task.policies.notify_after <= status.failures


def failure_events(
    facts: Facts, task: Task, status: TaskStatus, now: datetime, reason: Reason | None = None
) -> tuple[Event, ...]:
    """Return the event, if any, of the transition to the new task and status: the two kinds alternate.

    An edit of the policy can begin or end an incident, too. A resume of a failed task ends it without an event of its
    own, because `task.resumed` says so.
    """
    before, after = is_failing(facts.task, facts.status), is_failing(task, status)
    if before == after:
        return ()
    if not after:
        return (task_event(EventKind.TASK_RECOVERED, task, now),)
    return (task_event(EventKind.TASK_FAILING, task, now, None if reason is None else reason.value),)
