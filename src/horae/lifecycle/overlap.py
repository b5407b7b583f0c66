"""An occurrence is due while an earlier run of its task is still going: the overlap policy, and nothing else."""

from __future__ import annotations

from enum import Enum, auto
from typing import assert_never

from ..model.change import Facts
from ..model.entry import Entry, EntryKind
from ..model.run import Origin, Run


class Meeting(Enum):
    SKIP = auto()
    """It is recorded, and not run."""
    WAIT = auto()
    """It runs when what goes on has ended."""
    REPLACE = auto()
    """What goes on is asked to end, and then it runs."""


def meet(facts: Facts, entry: Entry) -> Meeting:
    """Something is in its way: what becomes of it?"""
    match facts.task.policies.overlap:
        case "skip":
            return Meeting.SKIP
        case "queue":
            return Meeting.SKIP if _somebody_waits(facts, entry) else Meeting.WAIT
        case "queue_all" | "parallel":
            # In parallel only a backlog has anything to wait for.
            return Meeting.WAIT
        case "replace":
            return Meeting.REPLACE
        case never:
            assert_never(never)


def in_the_way(facts: Facts, entry: Entry) -> bool:
    """Whether something of the task has to end before this entry may start.

    That is a run that goes on, or a backlog that runs in order and comes first. A backlog is one by one also in parallel.
    """
    parallel = facts.task.policies.overlap == "parallel"
    if parallel and not entry.in_order:
        return False
    if any(not parallel or _in_order_with(run, entry) for run in facts.live):
        return True
    return any(
        _in_order_with(other, entry) and other.planned < entry.planned
        for other in facts.entries
        if other.slot != entry.slot
    )


def superseded_by(facts: Facts, entry: Entry) -> tuple[Entry, ...]:
    """Retries that a newer due occurrence ends: one that still waits is not going."""
    if entry.origin is not Origin.SCHEDULED or facts.task.policies.overlap in ("queue_all", "parallel"):
        return ()
    return tuple(
        other
        for other in facts.entries
        if other.kind is EntryKind.RETRY and _gives_way(other) and other.planned < entry.planned
    )


def heir_of(entry: Entry, ended: tuple[Entry, ...]) -> Entry:
    """Whoever takes the place of a retry takes over how often the process died under it: what kills its process every
    time would otherwise never be found out where the next occurrence always comes first."""
    deaths = max((other.deaths for other in ended), default=0)
    return entry if deaths <= entry.deaths else entry._replace(deaths=deaths)


def replaced_waiters(facts: Facts) -> tuple[Entry, ...]:
    """Occurrences that wait for the run that is replaced: a newer one takes their place."""
    return tuple(other for other in facts.entries if other.kind is EntryKind.WAITING and _gives_way(other))


def replaced_runs(facts: Facts) -> tuple[Run, ...]:
    """The runs that end so that a newer one can start; what runs in order is never replaced."""
    return tuple(run for run in facts.live if not run.in_order)


def _in_order_with(other: Run | Entry, entry: Entry) -> bool:
    return other.in_order and other.origin is entry.origin


def _gives_way(entry: Entry) -> bool:
    return entry.origin is Origin.SCHEDULED and not entry.in_order


def _somebody_waits(facts: Facts, entry: Entry) -> bool:
    """What runs in order does not wait for its turn in the sense of overlap: it was never due while a run was going."""
    waits = (EntryKind.WAITING, EntryKind.MANUAL)
    return any(other.kind in waits and other.slot != entry.slot and not other.in_order for other in facts.entries)
