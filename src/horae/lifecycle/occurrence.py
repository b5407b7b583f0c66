"""The next scheduled occurrence came due, alone or as the oldest of a pile: skips, missed, overlap, lanes, and what follows."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.reason import Reason
from ..model.run import Origin, Run, Span
from ..model.task import past_of
from ..schedule import next  # noqa: A004 - the product's own question
from .agenda import next_entry
from .backlog_accounting import Reckoning, reckon
from .due_backlog import Pile, counts_from_end, pile_of, without_repeat
from .entry_removal import account_for, occurrences_in
from .event_rows import told
from .missed import MakeUp, Occurrence, after_waiting, make_up, on_time
from .overlap import Meeting, heir_of, in_the_way, meet, replaced_waiters, superseded_by
from .replacement import replacing
from .start import Claimant, born, full_lane, started


class _Turn(NamedTuple):
    """What a claim of the next occurrence works with."""

    facts: Facts
    entry: Entry
    token: int
    claim: Claimant
    reckoning: Reckoning


def next_occurrence(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    pile = pile_of(facts.task, facts.standing, entry.planned, claim.now)
    if facts.barred is not None:
        unasked = Reckoning(pile, pile, facts.standing)
        return _account(_Turn(facts, entry, token, claim, unasked), MakeUp(((pile.span, facts.barred),)))
    turn = _Turn(facts, entry, token, claim, reckon(facts.standing, pile))
    if turn.reckoning.left is None:
        return _account(turn, MakeUp())
    plan = _plan(turn, turn.reckoning.left)
    return _account(turn, plan) if plan.run is None else _meet(turn, turn.reckoning.left, plan, plan.run)


def _plan(turn: _Turn, pile: Pile) -> MakeUp:
    """Missed applies to more than one unaccounted instant, or to one older than the poll ceiling."""
    missed, now = turn.facts.task.policies.missed, turn.claim.now
    if _has_waited(turn, pile):
        return after_waiting(missed, pile, now, turn.reckoning.remaining)
    if pile.size == 1 and now - pile.due(pile.first) <= turn.claim.poll_ceiling:
        return on_time(pile.first)
    return make_up(missed, pile, now, turn.reckoning.remaining)


def _meet(turn: _Turn, pile: Pile, plan: MakeUp, first: Occurrence) -> Change:
    """Something is to run: unless the task's own runs, its backlog or a full lane stand in the way."""
    facts, entry = turn.facts, _as_it_runs(turn.entry, pile, first)
    if not in_the_way(facts, entry):
        lane = full_lane(facts)
        return _run(turn, plan, entry) if lane is None else _wait(turn, pile, Stand.PARKED, lane)
    if _has_waited(turn, pile) or not (facts.live or first.in_order):
        # Overlap is for an instant that comes due while a run is going, and this one did not.
        return _wait(turn, pile, Stand.HELD)
    meeting = meet(facts, turn.entry)
    if first.in_order or meeting is Meeting.WAIT:
        return _account(turn, plan.all_queued)
    if meeting is Meeting.REPLACE:
        return replacing(facts, _account(turn, plan.all_queued, ended=replaced_waiters(facts)), turn.claim.now)
    span = first.span or Span(first.planned, first.planned, 1)
    return _account(turn, MakeUp((*plan.skips, (span, Reason.OVERLAP))))


def _has_waited(turn: _Turn, pile: Pile) -> bool:
    return turn.entry.waited and pile.first == turn.entry.planned


def _as_it_runs(entry: Entry, pile: Pile, first: Occurrence) -> Entry:
    if first == (entry.planned, None, None, False):
        return entry
    at = pile.due(first.planned)
    return entry._replace(planned=first.planned, due=at, span=first.span, in_order=first.in_order)


def _wait(turn: _Turn, pile: Pile, stand: Stand, lane: str | None = None) -> Change:
    """The pile waits as it is; only requested skips are decided. An instant that was alone is not missed afterwards."""
    reckoning, now = turn.reckoning, turn.claim.now
    rows = reckoning.rows(MakeUp(), now)
    entry = turn.entry._replace(
        planned=pile.first,
        due=pile.due(pile.first),
        stand=stand,
        lane=lane,
        waited=_has_waited(turn, pile) or pile.size == 1,
    )
    standing = reckoning.counted(0, reckoning.whole.size - pile.size)
    return Change(
        standing=standing if standing != turn.facts.standing else None,
        born=rows,
        put=(entry,),
        events=tuple(told(row, now) for row in rows),
    )


def _run(turn: _Turn, plan: MakeUp, entry: Entry) -> Change:
    ended = superseded_by(turn.facts, entry)
    run = born(turn.facts, heir_of(entry, ended), turn.token, turn.claim)
    return _account(turn, plan, run, ended)


def _account(turn: _Turn, plan: MakeUp, run: Run | None = None, ended: tuple[Entry, ...] = ()) -> Change:
    """Every instant of the pile has its row now, or its run, or its place in the queue; then comes the next one."""
    facts, reckoning, now = turn.facts, turn.reckoning, turn.claim.now
    rows = (*reckoning.rows(plan, now), *account_for(facts, ended, Reason.SUPERSEDED, now))
    standing = reckoning.counted(plan.accepted - _given_back(facts, ended, now), reckoning.whole.size)
    put = () if plan.queued is None else (_joined(facts, reckoning.queued(plan.queued)),)
    following = None if counts_from_end(facts.task.schedule) else next_entry(facts.task, standing, reckoning.whole.last)
    return Change(
        standing=standing if standing != facts.standing else None,
        born=rows if run is None else (*rows, run),
        put=put if following is None else (following, *put),
        dropped=(*(() if following is not None else (turn.entry.slot,)), *(each.slot for each in ended)),
        events=(*(told(row, now) for row in rows), *(() if run is None else (started(run, now),))),
    )


def _given_back(facts: Facts, ended: tuple[Entry, ...], now: datetime) -> int:
    """Waiters were counted when they were put in line; those that give way are given no run after all."""
    return sum(occurrences_in(facts, each, now) for each in ended if each.kind is EntryKind.WAITING)


def _joined(facts: Facts, waiting: Entry) -> Entry:
    """Where all are queued, those that wait in a row are one entry, however many there are."""
    task = facts.task
    if task.policies.overlap != "queue_all" or waiting.span is not None:
        return waiting
    endless, past = without_repeat(task.schedule), past_of(task, facts.standing)
    for other in facts.entries:
        alike = other.kind is EntryKind.WAITING and other.origin is Origin.SCHEDULED and other.span is None
        if alike and other.in_order == waiting.in_order:
            end = other.through or other.planned
            if next(endless, end, past) == waiting.planned:
                return other._replace(through=waiting.through or waiting.planned)
    return waiting
