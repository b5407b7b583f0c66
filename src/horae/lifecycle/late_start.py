"""Decision about entries that may no longer start (`start_within`): their occurrences are skipped, and only those."""

from __future__ import annotations

from datetime import timedelta

from ..model.change import Change, Facts, facts_after
from ..model.entry import Entry, EntryKind
from ..model.reason import Reason
from ..model.task import past_of
from .due_backlog import MICROSECOND, DueBacklog
from .event_rows import count_occurrences, run_event, skip_rows, skipped_run
from .occurrence import skip_late_occurrences
from .start import ClaimContext
from .start_deadline import late_entries


def skip_late_entries(facts: Facts, deadline: Entry, claim: ClaimContext) -> Change:
    """Skip all entries of the task that may no longer start: this needs no lane, label or target."""
    change = Change(dropped=(deadline.slot,))
    for entry in late_entries(facts, claim.now):
        skipped = skip_late_start(facts_after(facts, change), entry, claim)
        change = change._replace(
            status=skipped.status or change.status,
            new_runs=(*change.new_runs, *skipped.new_runs),
            put=(*change.put, *skipped.put),
            dropped=(*change.dropped, *skipped.dropped),
            events=(*change.events, *skipped.events),
        )
    return change


def skip_late_start(facts: Facts, entry: Entry, claim: ClaimContext) -> Change:
    """Skip an entry that may no longer start; of a range or a backlog, only the occurrences that may not."""
    within = facts.task.policies.start_within
    if entry.kind is EntryKind.NEXT:
        return skip_late_occurrences(facts, entry, claim)
    if entry.through is not None and within is not None:
        size = count_occurrences(facts, entry, claim.now)
        waiting = DueBacklog(facts.task, past_of(facts.task, facts.status), entry.planned, entry.through, size)
        return _skip_late_part(facts, entry, waiting, within, claim)
    return _skip_all(facts, entry, claim)


def _skip_late_part(facts: Facts, entry: Entry, waiting: DueBacklog, within: timedelta, claim: ClaimContext) -> Change:
    late, rest = waiting.split_due_before(claim.now - within + MICROSECOND)
    if late is None or rest is None:
        return _skip_all(facts, entry, claim)
    row = skipped_run(facts.task, late.span, Reason.START_DEADLINE, claim.now)
    through = None if rest.size == 1 else rest.last
    kept = entry._replace(planned=rest.first, due=rest.due(rest.first), through=through)
    return Change(new_runs=(row,), put=(kept,), events=(run_event(row, claim.now),))


def _skip_all(facts: Facts, entry: Entry, claim: ClaimContext) -> Change:
    rows = skip_rows(facts, (entry,), Reason.START_DEADLINE, claim.now)
    return Change(new_runs=rows, dropped=(entry.slot,), events=tuple(run_event(row, claim.now) for row in rows))
