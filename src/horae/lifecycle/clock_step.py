"""Replanning of interval tasks after the wall clock was set back, on instants that no run has used yet."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.events.event import EventKind
from ..model.ids import EPOCH
from ..model.task import past_of
from ..schedule import Every, next  # noqa: A004 - next occurrence, not the builtin
from .agenda import entry_at
from .due_backlog import MICROSECOND, without_repeat
from .event_rows import task_event


def replan_after_clock_step(facts: Facts, now: datetime) -> Change:
    """Replan an `every` task whose last accounted instant lies after `now`; otherwise return an empty change.

    Such an instant means that the clock was set back: the task would not run until the clock has caught up. A grid keeps
    its phase, moved by a microsecond, so that no instant is planned twice. An interval from the end of a run counts from `now`.
    """
    schedule = facts.task.schedule
    if isinstance(schedule, Every):
        for entry in facts.entries:
            if entry.kind is EntryKind.NEXT and entry.state is EntryState.TIMED:
                follow = _follow_end if schedule.since == "end" else _follow_grid
                return follow(facts, schedule, entry, now)
    return Change()


def _follow_grid(facts: Facts, schedule: Every, entry: Entry, now: datetime) -> Change:
    first = next(without_repeat(schedule), EPOCH, past_of(facts.task, facts.status))
    previous = entry.planned - schedule.interval
    has_future_run = first is not None and previous >= first and previous > now
    is_created_in_future = schedule.start is None and facts.task.created > now
    if not has_future_run and not is_created_in_future:
        return Change()
    start = now + (entry.planned - now) % schedule.interval + MICROSECOND
    task = facts.task._replace(schedule=replace(schedule, start=start), version=facts.task.version + 1)
    return _move_entry(facts._replace(task=task), entry, start, now)._replace(task=task)


def _follow_end(facts: Facts, schedule: Every, entry: Entry, now: datetime) -> Change:
    last_end = facts.status.last_end or facts.task.created
    if last_end <= now:
        return Change()
    status = facts.status._replace(last_end=now)
    moved = _move_entry(facts._replace(status=status), entry, now + schedule.interval, now)
    return moved._replace(status=status)


def _move_entry(facts: Facts, entry: Entry, planned: datetime, now: datetime) -> Change:
    detail = f"{entry.planned.isoformat()} -> {planned.isoformat()}"
    return Change(
        put=(entry_at(facts.task, facts.status, planned),),
        events=(task_event(EventKind.TASK_REPLANNED, facts.task, now, detail),),
    )
