"""Guarantee 2: at any moment, everything before the next occurrence of a task has a run row or an agenda entry."""

from __future__ import annotations

from collections.abc import Iterator

from horae.model.entry import EntryKind
from horae.model.run import Origin
from tests.simulation.checks.account import Account, reach
from tests.simulation.checks.violation import Violation
from tests.simulation.history import AgendaSnapshot


def check_atomicity(glimpse: AgendaSnapshot, account: Account) -> Iterator[Violation]:
    """The rows that were there are those of which an event up to that one tells."""
    mine = [entry for entry in glimpse.entries if entry.origin is Origin.SCHEDULED]
    coming = next((entry.planned for entry in mine if entry.kind is EntryKind.NEXT), None)
    if coming is None:
        return
    queued = [reach(entry) for entry in mine if entry.kind is not EntryKind.NEXT]
    for instant in account.planned_before(coming, glimpse.number):
        if account.number_of_event(instant) > glimpse.number and not any(
            first <= instant <= last for first, last in queued
        ):
            yield Violation(
                "2", f"event {glimpse.number}: {glimpse.task_id} goes on to {coming}, but {instant} is not told of"
            )
            return
