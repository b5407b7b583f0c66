"""Interval tasks after the wall clock was set back: they go on at once, on instants that no run has had yet."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.events.event import EventKind
from ..model.ids import EPOCH
from ..model.task import past_of
from ..schedule import Every, next  # noqa: A004 - the product's own question
from .agenda import entry_at
from .due_backlog import MICROSECOND, without_repeat
from .event_rows import task_event


def follow_clock(facts: Facts, now: datetime) -> Change:
    """Nothing, unless what has been accounted for lies ahead of `now`: then the clock was set back, and the task would be
    silent until it has caught up.

    A grid keeps its phase, moved by a microsecond, so that no instant is planned a second time. An interval that counts from
    the end of a run counts from `now`.
    """
    schedule = facts.task.schedule
    if isinstance(schedule, Every):
        for entry in facts.entries:
            if entry.kind is EntryKind.NEXT and entry.stand is Stand.TIMED:
                follow = _follow_end if schedule.since == "end" else _follow_grid
                return follow(facts, schedule, entry, now)
    return Change()


def _follow_grid(facts: Facts, schedule: Every, entry: Entry, now: datetime) -> Change:
    first = next(without_repeat(schedule), EPOCH, past_of(facts.task, facts.standing))
    before = entry.planned - schedule.interval
    had_one_ahead = first is not None and before >= first and before > now
    was_made_ahead = schedule.start is None and facts.task.created > now
    if not had_one_ahead and not was_made_ahead:
        return Change()
    start = now + (entry.planned - now) % schedule.interval + MICROSECOND
    task = facts.task._replace(schedule=replace(schedule, start=start), version=facts.task.version + 1)
    return _moved(facts._replace(task=task), entry, start, now)._replace(task=task)


def _follow_end(facts: Facts, schedule: Every, entry: Entry, now: datetime) -> Change:
    last_end = facts.standing.last_end or facts.task.created
    if last_end <= now:
        return Change()
    standing = facts.standing._replace(last_end=now)
    moved = _moved(facts._replace(standing=standing), entry, now + schedule.interval, now)
    return moved._replace(standing=standing)


def _moved(facts: Facts, entry: Entry, planned: datetime, now: datetime) -> Change:
    detail = f"{entry.planned.isoformat()} -> {planned.isoformat()}"
    return Change(
        put=(entry_at(facts.task, facts.standing, planned),),
        events=(task_event(EventKind.TASK_REPLANNED, facts.task, now, detail),),
    )
