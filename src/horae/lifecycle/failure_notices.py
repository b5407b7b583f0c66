"""Who wants to hear of failures hears once that a task is failing, and once that it has recovered."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Facts
from ..model.events.event import Event, EventKind
from ..model.reason import Reason
from ..model.task import Standing, Task
from .event_rows import task_event


def is_failing(task: Task, standing: Standing) -> bool:
    """Whether so many occurrences in a row have failed as its policy wants to hear of."""
    return 0 < task.policies.notify_after <= standing.failures


def noticed(
    facts: Facts, task: Task, standing: Standing, now: datetime, reason: Reason | None = None
) -> tuple[Event, ...]:
    """What a task that is to stand so is told of: the two notices take turns, so that an incident has one of each.

    An edit of the policy can begin or end an incident, too. A person who resumes what had given up has looked: that ends
    it without a notice of its own, because `task.resumed` says so.
    """
    before, after = is_failing(facts.task, facts.standing), is_failing(task, standing)
    if before == after:
        return ()
    if not after:
        return (task_event(EventKind.TASK_RECOVERED, task, now),)
    return (task_event(EventKind.TASK_FAILING, task, now, None if reason is None else reason.value),)
