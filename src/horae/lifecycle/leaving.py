"""Entries leave the agenda without being run: each occurrence that they stood for gets its row."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ..model.change import Facts
from ..model.entry import Entry, EntryKind
from ..model.reason import Reason
from ..model.run import Run, Span
from ..model.task import past_of
from ..schedule import count
from .pile import planned_pile, without_repeat
from .telling import given_up, skipped


def account_for(facts: Facts, entries: Iterable[Entry], reason: Reason, now: datetime) -> tuple[Run, ...]:
    rows = (_row(facts, entry, reason, now) for entry in entries)
    return tuple(row for row in rows if row is not None)


def occurrences_in(facts: Facts, entry: Entry) -> int:
    """How many an entry stands for: one, or all of a range."""
    if entry.through is None:
        return 1
    past = past_of(facts.task, facts.standing)
    return 1 + count(without_repeat(facts.task.schedule), entry.planned, entry.through, past)


def _row(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run | None:
    match entry.kind:
        case EntryKind.NEXT:
            return _pile(facts, entry, reason, now)
        case EntryKind.WAITING:
            return _range(facts, entry, reason, now)
        case EntryKind.RETRY | EntryKind.MANUAL:
            return given_up(facts.task, entry, reason, now)
        case EntryKind.RESUME | EntryKind.DEADLINE:
            return None


def _pile(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run | None:
    """What has been planned by now. An occurrence whose jitter is still running had its instant, so it has its row."""
    if entry.planned > now:
        return None
    pile = planned_pile(facts.task, facts.standing, entry.planned, now)
    return skipped(facts.task, pile.span, reason if facts.standing.pause is None else Reason.PAUSED, now)


def _range(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run:
    if entry.through is None:
        return given_up(facts.task, entry, reason, now)
    span = Span(entry.planned, entry.through, occurrences_in(facts, entry))
    return skipped(facts.task, span, reason, now, entry.origin)._replace(attempt=entry.attempt)
