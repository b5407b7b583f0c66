"""Entries that are due soon, read by the commit of the claim before: at a steady rate a claim is one round trip instead of two.

The commit of such a claim checks that exactly these entries are due, so it claims what a claim that reads first would claim. If
the agenda has changed since they were read, nothing is written, and the claim reads first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, Final, NamedTuple

from ....model.ids import to_microseconds
from ..layout.keys import due_of_member, parse_entry_member
from ..transactions.transaction import Transaction

_WINDOW_MICROSECONDS: Final = 100_000
"""How far ahead entries are read. A document that changes until its entry is due was read in vain."""
_MAX_ENTRIES: Final = 128
_FIRST_PAUSE: Final = 4
_MAX_PAUSE: Final = 64


class Upcoming(NamedTuple):
    """All entries that are due after the claim that has read them, up to an instant, with the documents of their tasks."""

    node_id: str
    until: int
    """Microsecond of that instant."""
    epoch: int
    counter: int
    """Of the last fencing token: no other claim may use the next one."""
    node: str
    limits: str | None
    members: tuple[str, ...] = ()
    documents: tuple[str | None, ...] = ()


class UpcomingEntries:
    """Upcoming entries of one process. After claims in vain it pauses, for longer each time: other nodes claim as well."""

    def __init__(self) -> None:
        self._known: Upcoming | None = None
        self._pause = 0
        self._next_pause = _FIRST_PAUSE

    def take(self, now: datetime, node_id: str, room: int) -> tuple[Upcoming, Upcoming] | None:
        """Return the entries that are due now, and those that are left; None if a claim has to read first."""
        known, self._known = self._known, None
        instant = to_microseconds(now)
        if known is None or known.node_id != node_id or instant > known.until:
            return None
        count = sum(1 for _ in takewhile(lambda member: due_of_member(member) <= instant, known.members))
        due = known._replace(members=known.members[:count], documents=known.documents[:count])
        if not 0 < count <= room or len({parse_entry_member(member).task_id for member in due.members}) < count:
            return None
        return due, known._replace(members=known.members[count:], documents=known.documents[count:])

    def report(self, *, is_current: bool) -> None:
        """Record whether a claim of taken entries was committed."""
        if is_current:
            self._next_pause = _FIRST_PAUSE
        else:
            self._pause, self._next_pause = self._next_pause, min(_MAX_PAUSE, 2 * self._next_pause)

    def ask(self, transaction: Transaction, now: datetime, left: Upcoming | None) -> bool:
        """Let the commit of a claim answer the entries that follow those that are left; return whether it does."""
        if self._pause:
            self._pause -= 1
            return False
        since = to_microseconds(now) if left is None else left.until
        until = to_microseconds(now) + _WINDOW_MICROSECONDS
        transaction.ask("UPCOMING", transaction.keys.timed, f"({since}", str(until), _MAX_ENTRIES)
        return True

    def put(self, known: Upcoming, answer: Sequence[Any]) -> None:
        """Keep the answer of the commit, after the entries that are left (`known`)."""
        until, members, documents = int(answer[0]), *map(tuple, answer[1:])
        if len(members) == _MAX_ENTRIES:
            # Entries of the same instant may be missing.
            until = due_of_member(members[-1]) - 1
            count = sum(due_of_member(member) <= until for member in members)
            members, documents = members[:count], documents[:count]
        self._known = known._replace(
            until=max(known.until, until),
            members=(*known.members, *members),
            documents=(*known.documents, *documents),
        )
