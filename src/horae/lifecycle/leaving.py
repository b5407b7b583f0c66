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
from .pile import pile_of, without_repeat
from .telling import given_up, skipped


def account_for(facts: Facts, entries: Iterable[Entry], reason: Reason, now: datetime) -> tuple[Run, ...]:
    rows = (_row(facts, entry, reason, now) for entry in entries)
    return tuple(row for row in rows if row is not None)


def _row(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run | None:
    match entry.kind:
        case EntryKind.NEXT:
            if entry.due > now:
                return None
            pile = pile_of(facts.task, facts.standing, entry.planned, now - (entry.due - entry.planned))
            return skipped(facts.task, pile.span, reason, now)
        case EntryKind.WAITING:
            return _range(facts, entry, reason, now)
        case EntryKind.RETRY | EntryKind.MANUAL:
            return given_up(facts.task, entry, reason, now)
        case EntryKind.RESUME | EntryKind.DEADLINE:
            return None


def _range(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run:
    if entry.through is None:
        return given_up(facts.task, entry, reason, now)
    past = past_of(facts.task, facts.standing)
    size = 1 + count(without_repeat(facts.task.schedule), entry.planned, entry.through, past)
    return skipped(facts.task, Span(entry.planned, entry.through, size), reason, now, entry.origin)
