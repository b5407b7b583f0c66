"""Skipped rows for agenda entries that are removed without a run, so that every occurrence has a row and a reason."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from ..model.change import Facts
from ..model.entry import Entry, EntryKind
from ..model.reason import Reason
from ..model.run import Run, Span
from ..model.task import past_of
from ..schedule import count
from .due_backlog import DueBacklog, compute_planned_backlog, without_repeat
from .event_rows import removed_entry_run, skipped_run


def skip_rows(facts: Facts, entries: Iterable[Entry], reason: Reason, now: datetime) -> tuple[Run, ...]:
    """Return one skipped run per entry that covers a due occurrence."""
    rows = (_skip_row(facts, entry, reason, now) for entry in entries)
    return tuple(row for row in rows if row is not None)


def count_occurrences(facts: Facts, entry: Entry, now: datetime) -> int:
    """Return the number of occurrences that an entry covers by now: one, a range, or the due backlog."""
    if entry.kind is EntryKind.NEXT:
        return 0 if entry.planned > now else _planned_backlog(facts, entry, now).size
    if entry.through is None:
        return 1
    past = past_of(facts.task, facts.status)
    return 1 + count(without_repeat(facts.task.schedule), entry.planned, entry.through, past)


def _skip_row(facts: Facts, entry: Entry, reason: Reason, now: datetime) -> Run | None:
    match entry.kind:
        case EntryKind.NEXT if entry.planned <= now:
            is_paused = facts.status.pause is not None
            return skipped_run(
                facts.task, _planned_backlog(facts, entry, now).span, Reason.PAUSED if is_paused else reason, now
            )
        case EntryKind.WAITING if entry.through is not None:
            span = Span(entry.planned, entry.through, count_occurrences(facts, entry, now))
            return removed_entry_run(facts.task, entry._replace(planned=span.last, span=span), reason, now)
        case EntryKind.WAITING | EntryKind.RETRY | EntryKind.MANUAL:
            return removed_entry_run(facts.task, entry, reason, now)
        case EntryKind.NEXT | EntryKind.RESUME | EntryKind.DEADLINE:
            return None
        case never:
            assert_never(never)


def _planned_backlog(facts: Facts, entry: Entry, now: datetime) -> DueBacklog:
    """Return the occurrences planned by now, including one that jitter makes due later: its instant has passed."""
    return compute_planned_backlog(facts.task, facts.status, entry.planned, now)
