"""A pause ends, or a task that had given up starts again: the stretch is written, and the agenda wakes."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.event import EventKind
from ..model.policy import Missed, MissedMode
from ..model.reason import Reason
from ..model.run import Origin, Run
from ..model.task import Standing, TaskState
from .agenda import next_entry, waiting_entry
from .leaving import account_for
from .missed import MakeUp, make_up
from .pile import counts_from_end, pile_of
from .telling import skipped, task_event, told


def awake(facts: Facts, now: datetime, missed: MissedMode) -> Change:
    """Entries whose instant passed in the pause are skipped as paused, or made up for as whoever resumes has said."""
    standing = facts.standing._replace(state=TaskState.ACTIVE, pause=None)
    active = facts._replace(standing=standing)
    passed = tuple(e for e in facts.entries if _passed(e, now) and (missed == "skip" or e.kind is EntryKind.NEXT))
    gone = {entry.slot for entry in passed}
    rows: tuple[Run, ...] = account_for(active, (e for e in passed if e.kind is not EntryKind.NEXT), Reason.PAUSED, now)
    put = [e._replace(stand=Stand.TIMED) for e in facts.entries if e.stand is Stand.ASLEEP and e.slot not in gone]
    for entry in passed:
        if entry.kind is EntryKind.NEXT:
            standing, more, entries = _made_up(active, entry, now, missed)
            rows, put = (*rows, *more), [*put, *entries]
    following = _chain(active, standing, put, now)
    return _written(facts, standing, rows, [*put, *following], gone, now)


def start_again(facts: Facts, now: datetime) -> Change:
    """Somebody has looked: the failures are forgotten, and the schedule goes on from this instant."""
    standing = facts.standing._replace(state=TaskState.ACTIVE, failures=0, reason=None, ended=None)
    following = next_entry(facts.task, standing, now)
    return _written(facts, standing, (), [] if following is None else [following], set(), now)


def _passed(entry: Entry, now: datetime) -> bool:
    return entry.stand is Stand.ASLEEP and entry.due <= now and entry.origin is Origin.SCHEDULED


def _made_up(
    facts: Facts, entry: Entry, now: datetime, mode: MissedMode
) -> tuple[Standing, tuple[Run, ...], list[Entry]]:
    """The stretch that passed: one row, or what the chosen mode makes of it; then the next occurrence after it."""
    task, standing = facts.task, facts.standing
    offset = entry.due - entry.planned
    pile = pile_of(task, standing, entry.planned, now - offset)
    limit = task.policies.missed.limit
    repeat = task.schedule.repeat
    remaining = None if repeat is None or task.schedule.counting == "planned" else repeat - standing.counted
    plan = MakeUp(skips=((pile.span, Reason.PAUSED),))
    if mode != "skip":
        plan = make_up(Missed(mode, None, limit), pile, now, offset, remaining)
    rows = tuple(skipped(task, span, reason, now) for span, reason in plan.skips)
    fires = pile.size if task.schedule.counting == "planned" else plan.accepted
    standing = standing._replace(counted=standing.counted + fires)
    entries = []
    if plan.run is not None:
        run = plan.run
        waiting = waiting_entry(
            task, run.planned, run.planned + offset, through=plan.through, span=run.span, in_order=plan.in_order
        )
        entries.append(waiting._replace(stand=Stand.TIMED))
    if not counts_from_end(task.schedule):
        following = next_entry(task, standing, pile.last)
        entries += [] if following is None else [following]
    return standing, rows, entries


def _chain(facts: Facts, standing: Standing, put: list[Entry], now: datetime) -> list[Entry]:
    """What counts from the end goes on from here, when nothing is left that would end."""
    if not counts_from_end(facts.task.schedule) or facts.live or any(e.origin is Origin.SCHEDULED for e in put):
        return []
    following = next_entry(facts.task, standing._replace(last_end=now), now)
    return [] if following is None else [following]


def _written(
    facts: Facts, standing: Standing, rows: tuple[Run, ...], put: list[Entry], gone: set[str], now: datetime
) -> Change:
    events = [*(told(row, now) for row in rows), task_event(EventKind.TASK_RESUMED, facts.task, now)]
    slots = {entry.slot for entry in put}
    left = [e for e in facts.entries if e.kind is not EntryKind.RESUME and e.slot not in gone]
    if not put and not left and not facts.live:
        standing = standing._replace(state=TaskState.COMPLETED, ended=now)
        events.append(task_event(EventKind.TASK_COMPLETED, facts.task, now))
    resumes = {entry.slot for entry in facts.entries if entry.kind is EntryKind.RESUME}
    return Change(
        standing=standing,
        born=rows,
        put=tuple(put),
        dropped=tuple(sorted((gone | resumes) - slots)),
        events=tuple(events),
    )
