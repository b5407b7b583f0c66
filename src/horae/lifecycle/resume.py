"""A pause ends, or a task that had given up starts again: the stretch is written, and the agenda wakes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..errors import Refusal
from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.events.event import EventKind
from ..model.paused_stretch import PausedStretch, pause_writing
from ..model.policy import Missed, MissedMode
from ..model.reason import Reason
from ..model.record import Writing
from ..model.refusals import refuse
from ..model.run import Origin, Run
from ..model.task import Standing, TaskState
from .agenda import next_entry
from .backlog_accounting import reckon
from .conclude import conclude
from .due_backlog import MICROSECOND, Pile, counts_from_end, pile_of
from .entry_removal import account_for
from .event_rows import task_event, told
from .missed import MakeUp, make_up


class _Stretch(NamedTuple):
    """What passed of the schedule, accounted for: rows, what is queued, and the next occurrence after it."""

    standing: Standing
    rows: tuple[Run, ...] = ()
    put: tuple[Entry, ...] = ()


def awake(facts: Facts, now: datetime, missed: MissedMode = "skip", until: datetime | None = None) -> Change:
    """What passed before the pause ended is skipped as paused, or made up for as whoever resumes has said."""
    end = until or now
    passed = [e for e in facts.entries if e.stand is Stand.ASLEEP and e.due < end and e.origin is Origin.SCHEDULED]
    begun = [entry for entry in passed if entry.kind is not EntryKind.NEXT]
    stretch = _Stretch(facts.standing._replace(state=TaskState.ACTIVE, pause=None))
    for entry in passed:
        if entry.kind is EntryKind.NEXT:
            pile = pile_of(facts.task, stretch.standing, entry.planned, end - MICROSECOND)
            stretch = _accounted(pile, stretch.standing, now, missed, Reason.PAUSED)
    if missed != "skip":
        change = _resumed(facts, stretch, [entry for entry in passed if entry not in begun], now)
        return change._replace(beside=_pause_records(facts, stretch.rows, end))
    rows = account_for(facts, begun, Reason.PAUSED, now)
    return _resumed(facts, stretch._replace(rows=(*rows, *stretch.rows)), passed, now)


def _pause_records(facts: Facts, rows: tuple[Run, ...], end: datetime) -> tuple[Writing, ...]:
    """Rows that are merged or skipped look like an outage: a record says that it was a pause."""
    pause = facts.standing.pause
    stretch = PausedStretch(end if pause is None else pause.since, end)
    return tuple(pause_writing(row, stretch) for row in rows if row.reason in (Reason.MERGED, Reason.MISSED_SKIPPED))


def can_start_again(facts: Facts, now: datetime) -> bool:
    """Whether a task that has given up has anything left to resume; one that runs once has not."""
    try:
        start_again(facts, now)
    except Refusal:
        return False
    return True


def start_again(facts: Facts, now: datetime, missed: MissedMode = "skip") -> Change:
    """Somebody has looked: the failures are forgotten, and the schedule goes on."""
    standing = facts.standing._replace(state=TaskState.ACTIVE, failures=0, reason=None, ended=None)
    stretch = _Stretch(standing)
    if not counts_from_end(facts.task.schedule):
        following = next_entry(facts.task, standing, facts.standing.ended or now)
        if following is not None and following.due < now:
            pile = pile_of(facts.task, standing, following.planned, now - MICROSECOND)
            stretch = _accounted(pile, standing, now, missed, Reason.MISSED_SKIPPED)
        elif following is not None:
            stretch = _Stretch(standing, put=(following,))
    change = _resumed(facts, stretch, [], now)
    if change.standing is not None and change.standing.state is TaskState.COMPLETED:
        raise refuse("task_over", id=facts.task.id, state=TaskState.FAILED.value, wish="resume", wish_zh="恢复")
    return change


def _accounted(pile: Pile, standing: Standing, now: datetime, mode: MissedMode, reason: Reason) -> _Stretch:
    """One row for all of it, or what the chosen mode makes of it: whoever resumes sets no limit to how old it may be."""
    reckoning = reckon(standing, pile)
    plan = MakeUp()
    if reckoning.left is not None and mode == "skip":
        plan = MakeUp(((reckoning.left.span, reason),))
    elif reckoning.left is not None:
        wish = Missed(mode, None, pile.task.policies.missed.limit)
        plan = make_up(wish, reckoning.left, now, reckoning.remaining).all_queued
    counted = reckoning.counted(plan.accepted, pile.size)
    queued = () if plan.queued is None else (reckoning.queued(plan.queued),)
    following = None if counts_from_end(pile.task.schedule) else next_entry(pile.task, counted, pile.last)
    return _Stretch(counted, reckoning.rows(plan, now), queued if following is None else (following, *queued))


def _resumed(facts: Facts, stretch: _Stretch, gone: list[Entry], now: datetime) -> Change:
    kept = {entry.slot for entry in stretch.put}
    left = [*gone, *(entry for entry in facts.entries if entry.kind is EntryKind.RESUME)]
    change = Change(
        standing=stretch.standing,
        born=stretch.rows,
        put=stretch.put,
        dropped=tuple(entry.slot for entry in left if entry.slot not in kept),
        events=(*(told(row, now) for row in stretch.rows), task_event(EventKind.TASK_RESUMED, facts.task, now)),
    )
    return conclude(facts, change, now)
