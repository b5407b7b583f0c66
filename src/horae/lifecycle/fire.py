"""An agenda entry came due: what now? Runs, rows that explain, the next entry and the events, decided together."""

from __future__ import annotations

from datetime import datetime
from typing import Final, assert_never

from ..model.change import Change, Facts
from ..model.entry import CLAIMABLE, Entry, EntryKind, Stand
from ..model.outcome import Settlement, TimedOut
from ..model.reason import Reason
from ..model.run import Origin
from ..model.task import TaskState, past_of
from ..schedule import due, next  # noqa: A004 - the product's own question
from .conclude import conclude
from .due_backlog import MICROSECOND, without_repeat
from .entry_removal import account_for
from .event_rows import told
from .fast_path import ordinary_claim
from .known_occurrence import without_made
from .occurrence import next_occurrence
from .overlap import Meeting, heir_of, in_the_way, meet, superseded_by
from .replacement import replacing
from .resume import awake
from .settle import settle
from .start import Claimant, born, full_lane, started
from .unroutable_entry import stranded

_MAY_TRY_AGAIN: Final = frozenset({TaskState.ACTIVE, TaskState.FAILED, TaskState.COMPLETED})


def fire(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """What becomes of a due entry: nearly always the ordinary thing, and otherwise what the rules say at length."""
    change = (
        stranded(facts, entry, claim)
        or ordinary_claim(facts, entry, token, claim)
        or fire_at_length(facts, entry, token, claim)
    )
    return without_made(facts, change, claim.now) if facts.made else change


def fire_at_length(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """Total: every entry that can be claimed gets an answer, and leaves its slot or stands differently in it."""
    match entry.kind:
        case EntryKind.RESUME:
            return _resume(facts, entry, claim)
        case EntryKind.DEADLINE:
            return _deadline(facts, entry, claim)
        case _ if not _may_run(facts, entry):
            change = _set_aside(facts, entry, claim)
        case EntryKind.NEXT:
            change = next_occurrence(facts, entry, token, claim)
        case EntryKind.WAITING:
            change = _waiting(facts, entry, token, claim)
        case EntryKind.RETRY:
            change = _retry(facts, entry, token, claim)
        case EntryKind.MANUAL:
            change = _manual(facts, entry, token, claim)
        case never:
            assert_never(never)
    return conclude(facts, change, claim.now)


def _may_run(facts: Facts, entry: Entry) -> bool:
    """A claim reads the task again: what was paused, cancelled or is over since does not start."""
    if facts.barred is not None and entry.kind is not EntryKind.NEXT:
        return False
    match entry.origin:
        case Origin.SCHEDULED if entry.kind is EntryKind.RETRY:
            # Of a task that is over there is a retry only where somebody has asked for it.
            return facts.standing.state in _MAY_TRY_AGAIN
        case Origin.SCHEDULED:
            return facts.standing.state is TaskState.ACTIVE
        case Origin.BACKFILL:
            return facts.standing.state not in (TaskState.PAUSED, TaskState.CANCELLED)
        case Origin.MANUAL:
            return facts.standing.state is not TaskState.CANCELLED
        case never:
            assert_never(never)


def _set_aside(facts: Facts, entry: Entry, claim: Claimant) -> Change:
    """Asleep with its task, or recorded and gone."""
    if facts.standing.state is TaskState.PAUSED and entry.origin is not Origin.MANUAL:
        return Change(put=(entry._replace(stand=Stand.ASLEEP, lane=None),))
    rows = account_for(facts, (entry,), facts.barred or Reason.CANCELLED, claim.now)
    return Change(born=rows, dropped=(entry.slot,), events=tuple(told(row, claim.now) for row in rows))


def _waiting(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """The first of those that wait, if nothing of the task is in the way; the rest stay held behind it."""
    if in_the_way(facts, entry):
        return _held(entry)
    if entry.origin is Origin.BACKFILL and _something_is_due(facts, claim.now):
        # The past has waited so long that it can let the present go first.
        return Change(put=(entry._replace(due=claim.now + MICROSECOND),))
    return _start(facts, entry, token, claim)


def _retry(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    return _held(entry) if in_the_way(facts, entry) else _start(facts, entry, token, claim)


def _manual(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """Somebody said: now. It obeys overlap, but what was met in time and only waited for a seat goes on waiting."""
    if not in_the_way(facts, entry):
        return _start(facts, entry, token, claim)
    meeting = meet(facts, entry)
    if meeting is Meeting.SKIP and not entry.waited:
        rows = account_for(facts, (entry,), Reason.OVERLAP, claim.now)
        return Change(born=rows, dropped=(entry.slot,), events=tuple(told(row, claim.now) for row in rows))
    return replacing(facts, _held(entry), claim.now) if meeting is Meeting.REPLACE else _held(entry)


def _held(entry: Entry) -> Change:
    return Change(put=(entry._replace(stand=Stand.HELD, lane=None, waited=True),))


def _start(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """A run for exactly this entry, if its lanes have a seat."""
    lane = full_lane(facts)
    if lane is not None:
        return Change(put=(entry._replace(stand=Stand.PARKED, lane=lane, waited=True),))
    ended = superseded_by(facts, entry) if entry.kind is EntryKind.WAITING else ()
    run = born(facts, heir_of(entry, ended), token, claim)
    rows = account_for(facts, ended, Reason.SUPERSEDED, claim.now)
    gone = tuple(each.slot for each in ended)
    behind = _behind(facts, entry, claim)
    return Change(
        born=(*rows, run),
        put=behind,
        dropped=gone if behind else (*gone, entry.slot),
        events=(*(told(row, claim.now) for row in rows), started(run, claim.now)),
    )


def _behind(facts: Facts, entry: Entry, claim: Claimant) -> tuple[Entry, ...]:
    """What is left of a range when its first occurrence has started, in the same slot."""
    if entry.through is None:
        return ()
    task, past = facts.task, past_of(facts.task, facts.standing)
    planned = next(without_repeat(task.schedule), entry.planned, past)
    if planned is None or planned > entry.through:
        return ()
    at = due(task.schedule, planned, task.id, past) if entry.origin is Origin.SCHEDULED else claim.now
    return (entry._replace(planned=planned, due=at, stand=Stand.HELD, lane=None),)


def _something_is_due(facts: Facts, now: datetime) -> bool:
    return any(
        entry.origin is not Origin.BACKFILL and entry.stand in CLAIMABLE and entry.due <= now for entry in facts.entries
    )


def _resume(facts: Facts, entry: Entry, claim: Claimant) -> Change:
    """The pause was to end then, and did: what passed since was not paused, whenever this is found out."""
    if facts.standing.state is TaskState.PAUSED:
        return awake(facts, claim.now, until=entry.due)
    return Change(dropped=(entry.slot,))


def _deadline(facts: Facts, entry: Entry, claim: Claimant) -> Change:
    """Whoever held the run has not answered in time."""
    for run in facts.live:
        if run.id == entry.run_id:
            return settle(facts, run, Settlement(run.id, run.token, TimedOut(), run.started, claim.now))
    return Change(dropped=(entry.slot,))
