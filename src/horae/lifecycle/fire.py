"""An agenda entry came due: what now? Runs, rows that explain, the next entry and the events, decided together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.outcome import Settlement, TimedOut
from ..model.reason import Reason
from ..model.run import Origin
from ..model.task import TaskState, past_of
from ..schedule import due, next  # noqa: A004 - the product's own question
from .control import resume
from .ending import DEADLINE_SLOT
from .occurrence import next_occurrence
from .overlap import Meeting, backlog, meet, occupied, released, replacing, superseded_by, without_unheld
from .pile import without_repeat
from .settle import settle
from .start import Claimant, born, full_lane, started
from .telling import given_up, told

Decision: TypeAlias = Callable[[Facts, Entry, int, Claimant], Change]


def fire(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """Total: every entry that can be claimed gets an answer, and leaves its slot or stands differently in it."""
    if not _may_run(facts, entry):
        return _set_aside(facts, entry, claim)
    match entry.kind:
        case EntryKind.NEXT:
            return _replacing(facts, entry, token, claim, next_occurrence)
        case EntryKind.WAITING:
            return _waiting(facts, entry, token, claim)
        case EntryKind.RETRY:
            return _retry(facts, entry, token, claim)
        case EntryKind.MANUAL:
            return _replacing(facts, entry, token, claim, _manual)
        case EntryKind.RESUME:
            return resume(facts, claim.now)
        case EntryKind.DEADLINE:
            return _deadline(facts, entry, claim)
        case never:
            assert_never(never)


def _may_run(facts: Facts, entry: Entry) -> bool:
    """A claim reads the task again: what was paused, cancelled or is over since does not start."""
    if entry.kind in (EntryKind.RESUME, EntryKind.DEADLINE):
        return True
    if facts.barred is not None and entry.kind is not EntryKind.NEXT:
        return False
    if entry.origin is Origin.SCHEDULED:
        return facts.standing.state is TaskState.ACTIVE
    return facts.standing.state is not TaskState.CANCELLED


def _set_aside(facts: Facts, entry: Entry, claim: Claimant) -> Change:
    """Asleep with its task, or recorded and gone."""
    if facts.standing.state is TaskState.PAUSED and facts.barred is None:
        return Change(put=(entry._replace(stand=Stand.ASLEEP),))
    row = given_up(facts.task, entry, facts.barred or Reason.CANCELLED, claim.now)
    # Whatever was held behind it must not wait for something that will never end.
    return Change(born=(row,), put=released(facts, facts.live), dropped=(entry.slot,), events=(told(row, claim.now),))


def _replacing(facts: Facts, entry: Entry, token: int, claim: Claimant, decide: Decision) -> Change:
    """Where a newer occurrence replaces the running one, what somebody outside holds ends in the same breath."""
    if not facts.live:
        return decide(facts, entry, token, claim)
    fewer, ended = without_unheld(facts, claim.now)
    change = decide(fewer, entry, token, claim)
    if not ended:
        return change
    return change._replace(
        moved=(*ended, *change.moved),
        dropped=(*change.dropped, *(DEADLINE_SLOT + run.id for run in ended)),
        events=(*(told(run, claim.now) for run in ended), *change.events),
    )


def _waiting(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """The first of those that wait, if nothing of the task is going; the rest stay held behind it."""
    if occupied(facts, facts.live, entry) or backlog(facts, entry):
        return Change(put=(entry._replace(stand=Stand.HELD),))
    return _start(facts, entry, token, claim, behind=_behind(facts, entry))


def _retry(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    if occupied(facts, facts.live, entry):
        return Change(put=(entry._replace(stand=Stand.HELD),))
    return _start(facts, entry, token, claim)


def _manual(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    """Somebody said: now. It obeys overlap, but what was met in time and only waited for a seat goes on waiting."""
    meeting = meet(facts, entry)
    if meeting is Meeting.START:
        return _start(facts, entry, token, claim)
    if meeting is Meeting.SKIP and not entry.waited:
        row = given_up(facts.task, entry, Reason.OVERLAP, claim.now)
        return Change(born=(row,), dropped=(entry.slot,), events=(told(row, claim.now),))
    cancelled = replacing(facts) if meeting is Meeting.REPLACE else ()
    return Change(put=(entry._replace(stand=Stand.HELD),), cancelled=cancelled)


def _start(facts: Facts, entry: Entry, token: int, claim: Claimant, behind: Entry | None = None) -> Change:
    """A run for exactly this entry, if its lanes have a seat; `behind` takes its slot."""
    lane = full_lane(facts)
    if lane is not None:
        return Change(put=(entry._replace(stand=Stand.PARKED, lane=lane, waited=True),))
    run = born(facts, entry, token, claim)
    ended = superseded_by(facts, entry) if entry.kind is EntryKind.WAITING else ()
    rows = tuple(given_up(facts.task, each, Reason.SUPERSEDED, claim.now) for each in ended)
    gone = tuple(each.slot for each in ended)
    return Change(
        born=(*rows, run),
        put=() if behind is None else (behind,),
        dropped=gone if behind is not None else (entry.slot, *gone),
        events=(*(told(row, claim.now) for row in rows), started(run, claim.now)),
    )


def _behind(facts: Facts, entry: Entry) -> Entry | None:
    """What is left of a range when its first occurrence has started."""
    if entry.through is None:
        return None
    task, past = facts.task, past_of(facts.task, facts.standing)
    planned = next(without_repeat(task.schedule), entry.planned, past)
    if planned is None or planned > entry.through:
        return None
    return entry._replace(planned=planned, due=due(task.schedule, planned, task.id, past), stand=Stand.HELD, lane=None)


def _deadline(facts: Facts, entry: Entry, claim: Claimant) -> Change:
    """Whoever held the run has not answered in time."""
    for run in facts.live:
        if run.id == entry.run_id:
            return settle(facts, run, Settlement(run.id, run.token, TimedOut(), run.started, claim.now))
    return Change(dropped=(entry.slot,))
