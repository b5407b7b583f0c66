"""The next scheduled occurrence came due, alone or as the oldest of a pile: skips, missed, overlap, lanes, and what follows."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.event import EventKind
from ..model.reason import Reason
from ..model.run import Origin, Run, Span
from ..model.task import Standing, TaskState
from .agenda import next_entry, waiting_entry
from .missed import MakeUp, Occurrence, after_waiting, make_up, on_time
from .overlap import Meeting, backlog, meet, replacing, superseded_by
from .pile import Pile, counts_from_end, pile_of
from .start import Claimant, born, full_lane, started
from .telling import given_up, skipped, task_event, told


class _Turn(NamedTuple):
    """What a claim of the next occurrence works with: the whole pile, and what is left of it after requested skips."""

    facts: Facts
    entry: Entry
    token: int
    claim: Claimant
    whole: Pile
    pile: Pile | None
    standing: Standing
    rows: tuple[Run, ...] = ()


def next_occurrence(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    offset = entry.due - entry.planned
    pile = pile_of(facts.task, facts.standing, entry.planned, claim.now - offset)
    turn = _Turn(facts, entry, token, claim, pile, pile, facts.standing)
    if facts.barred is not None:
        return _account(turn, MakeUp(skips=((pile.span, facts.barred),)))
    if facts.standing.skips_left:
        turn = _without_requested_skips(turn)
    if turn.pile is None:
        return _account(turn, MakeUp())
    plan = _plan(turn, turn.pile)
    if plan.run is None:
        return _account(turn, plan)
    return _meet(turn, plan, plan.run)


def _without_requested_skips(turn: _Turn) -> _Turn:
    """The oldest occurrences go to those who asked to skip some."""
    wanted = turn.standing.skips_left
    taken, rest = turn.whole.drop_oldest(wanted)
    row = skipped(turn.facts.task, taken.span, Reason.SKIP_REQUESTED, turn.claim.now)
    return turn._replace(pile=rest, rows=(row,), standing=turn.standing._replace(skips_left=wanted - taken.size))


def _plan(turn: _Turn, pile: Pile) -> MakeUp:
    """Missed applies to more than one unaccounted instant, or to one older than the poll ceiling."""
    schedule, entry, now = turn.facts.task.schedule, turn.entry, turn.claim.now
    missed = turn.facts.task.policies.missed
    offset = entry.due - entry.planned
    remaining = None
    if schedule.repeat is not None and schedule.counting == "run":
        remaining = schedule.repeat - turn.standing.counted
    if entry.waited and pile.first == entry.planned:
        return after_waiting(missed, pile, now, offset, remaining)
    if pile.size == 1 and now - pile.first - offset <= turn.claim.poll_ceiling:
        return on_time(pile.first)
    return make_up(missed, pile, now, offset, remaining)


def _meet(turn: _Turn, plan: MakeUp, first: Occurrence) -> Change:
    """Something is to run: unless the task's own runs, its backlog or a full lane stand in the way."""
    facts, entry = turn.facts, turn.entry
    meeting = meet(facts, entry)
    if backlog(facts, entry) if not facts.live else entry.waited and meeting is not Meeting.START:
        return _wait(turn, Stand.HELD)
    if meeting is Meeting.START:
        lane = full_lane(facts)
        return _run(turn, plan, first) if lane is None else _wait(turn, Stand.PARKED, lane)
    if plan.in_order or meeting is Meeting.WAIT:
        return _account(turn, _all_behind(plan, first))
    if meeting is Meeting.REPLACE:
        return _replace_running(turn, plan, first)
    span = first.span or Span(first.planned, first.planned, 1)
    return _account(turn, plan._replace(run=None, skips=(*plan.skips, (span, Reason.OVERLAP)), accepted=0))


def _wait(turn: _Turn, stand: Stand, lane: str | None = None) -> Change:
    """Nothing is decided yet: the entry waits as it is. What was met in time is not missed when its turn comes."""
    entry = turn.entry
    in_time = turn.claim.now - entry.due <= turn.claim.poll_ceiling
    return Change(put=(entry._replace(stand=stand, lane=lane, waited=entry.waited or in_time),))


def _all_behind(plan: MakeUp, first: Occurrence) -> MakeUp:
    return plan._replace(run=None, queued=first.planned, queued_span=first.span)


def _replace_running(turn: _Turn, plan: MakeUp, first: Occurrence) -> Change:
    """What goes on is asked to end; the newest occurrence waits for that, and older waiters give way to it."""
    older = tuple(e for e in turn.facts.entries if e.kind is EntryKind.WAITING and e.origin is Origin.SCHEDULED)
    change = _account(_superseding(turn, older), _all_behind(plan, first))
    return change._replace(cancelled=replacing(turn.facts), dropped=(*change.dropped, *(each.slot for each in older)))


def _run(turn: _Turn, plan: MakeUp, first: Occurrence) -> Change:
    facts, entry, claim = turn.facts, turn.entry, turn.claim
    if first.planned != entry.planned or first.span is not None or plan.in_order:
        at = first.planned + (entry.due - entry.planned)
        entry = entry._replace(planned=first.planned, due=at, span=first.span, in_order=plan.in_order)
    run = born(facts, entry, turn.token, claim)
    ended = superseded_by(facts, entry)
    change = _account(_superseding(turn, ended), plan, run)
    return change._replace(dropped=(*change.dropped, *(each.slot for each in ended))) if ended else change


def _superseding(turn: _Turn, ended: tuple[Entry, ...]) -> _Turn:
    rows = tuple(given_up(turn.facts.task, each, Reason.SUPERSEDED, turn.claim.now) for each in ended)
    return turn._replace(rows=(*turn.rows, *rows))


def _account(turn: _Turn, plan: MakeUp, run: Run | None = None) -> Change:
    """Every instant of the pile has its row now, or its run, or its place in the queue; then comes the next one."""
    facts, now = turn.facts, turn.claim.now
    task = facts.task
    rows = (*turn.rows, *(skipped(task, span, reason, now) for span, reason in plan.skips))
    standing = _counted(turn, plan)
    queued = () if plan.queued is None else (_queue(turn, plan, plan.queued),)
    following = _following(turn, standing, running=run is not None or bool(queued))
    events = [told(row, now) for row in rows]
    if run is not None:
        events.append(started(run, now))
    if following is None and run is None and not queued and _nothing_left(facts, turn.entry):
        standing = standing._replace(state=TaskState.COMPLETED, ended=now)
        events.append(task_event(EventKind.TASK_COMPLETED, task, now))
    return Change(
        standing=standing if standing != facts.standing else None,
        born=rows if run is None else (*rows, run),
        put=queued if following is None else (following, *queued),
        dropped=(turn.entry.slot,) if following is None else (),
        events=tuple(events),
    )


def _counted(turn: _Turn, plan: MakeUp) -> Standing:
    fires = turn.whole.size if turn.facts.task.schedule.counting == "planned" else plan.accepted
    return turn.standing if fires == 0 else turn.standing._replace(counted=turn.standing.counted + fires)


def _queue(turn: _Turn, plan: MakeUp, planned: datetime) -> Entry:
    task = turn.facts.task
    at = planned + (turn.entry.due - turn.entry.planned)
    waiting = waiting_entry(task, planned, at, through=plan.through, span=plan.queued_span, in_order=plan.in_order)
    return _joined(turn, waiting) if task.policies.overlap == "queue_all" and waiting.span is None else waiting


def _joined(turn: _Turn, waiting: Entry) -> Entry:
    """All that wait in a row are one entry, however many there are: the last one grows by what follows it."""
    for other in turn.facts.entries:
        if other.kind is EntryKind.WAITING and other.origin is Origin.SCHEDULED and other.span is None:
            return other._replace(through=waiting.through or waiting.planned)
    return waiting


def _following(turn: _Turn, standing: Standing, *, running: bool) -> Entry | None:
    task = turn.facts.task
    if not counts_from_end(task.schedule):
        return next_entry(task, standing, turn.whole.last)
    # What counts from the end has no next while a run goes; what was skipped ended here.
    return None if running else next_entry(task, standing._replace(last_end=turn.claim.now), turn.claim.now)


def _nothing_left(facts: Facts, entry: Entry) -> bool:
    return not facts.live and all(other.slot == entry.slot for other in facts.entries)
