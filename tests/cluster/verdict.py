"""What was done to whom, and what came of it: a run may be taken from a node only after something was done to that node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from tests.faults.evidence import Evidence
from tests.faults.ledger import Mark


class Hit(NamedTuple):
    """A fault, from its first moment until it was over. Without a `pid` it was done to everybody: to the database."""

    fault: str
    pid: int | None
    since: datetime
    until: datetime

    def may_cost(self, pid: int, at: datetime, patience: timedelta) -> bool:
        """Whether what a process carried may have been taken from it at an instant because of this."""
        return self.pid in (pid, None) and self.since <= at <= self.until + patience


def unprovoked(hits: Sequence[Hit], marks: Sequence[Mark], evidence: Evidence, patience: timedelta) -> Iterator[str]:
    """Runs that were taken from nodes to which nothing was done: a lease that was falsely lost, or falsely taken."""
    carriers = {mark.run: mark.pid for mark in marks}
    for row in evidence.rows:
        if row.state != "lost" or row.reason != "lease_lost" or row.run not in carriers or row.ended is None:
            continue
        pid, ended = carriers[row.run], row.ended
        if not any(hit.may_cost(pid, ended, patience) for hit in hits):
            yield f"unprovoked: {row.run} was taken from {pid} at {ended}, and nothing had been done to it"


def takeovers(hits: Sequence[Hit], marks: Sequence[Mark]) -> dict[str, list[float]]:
    """Seconds from a fault to the start of the attempt that came after it, for each run that was going then; by fault."""
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
