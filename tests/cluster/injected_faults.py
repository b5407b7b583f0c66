"""Injected faults and their consequences: a run may be taken over only after a fault of its node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from tests.faults.ledger import Mark
from tests.faults.store_snapshot import Snapshot


class InjectedFault(NamedTuple):
    """A fault from start to end. Without a `pid` it hit the database, and so every node."""

    fault: str
    pid: int | None
    since: datetime
    until: datetime

    def may_explain(self, pid: int, at: datetime, patience: timedelta) -> bool:
        """Whether this fault explains that the process lost a run at an instant."""
        return self.pid in (pid, None) and self.since <= at <= self.until + patience


def unprovoked(
    hits: Sequence[InjectedFault], marks: Sequence[Mark], snapshot: Snapshot, patience: timedelta
) -> Iterator[str]:
    """Return runs taken from nodes without a fault: the lease was lost, or taken over, wrongly."""
    carriers = {mark.run: mark.pid for mark in marks}
    for row in snapshot.rows:
        if row.state != "lost" or row.reason != "lease_lost" or row.run not in carriers or row.ended is None:
            continue
        pid, ended = carriers[row.run], row.ended
        if not any(hit.may_explain(pid, ended, patience) for hit in hits):
            yield f"unprovoked: {row.run} was taken from {pid} at {ended}, and nothing had been done to it"


def takeovers(hits: Sequence[InjectedFault], marks: Sequence[Mark]) -> dict[str, list[float]]:
    """Return the seconds from each fault to the next start of every run that it interrupted, by fault."""
    starts: dict[tuple[str, datetime], list[Mark]] = defaultdict(list)
    for mark in marks:
        if mark.phase == "start":
            starts[mark.task, mark.planned].append(mark)
    found: dict[str, list[float]] = defaultdict(list)
    for attempts in starts.values():
        for before, after in pairwise(sorted(attempts, key=lambda mark: mark.attempt)):
            causes = [hit for hit in hits if hit.pid in (before.pid, None) and hit.since <= after.instant]
            if causes:
                latest = max(causes, key=lambda hit: hit.since)
                found[latest.fault].append((after.instant - latest.since).total_seconds())
    return found
