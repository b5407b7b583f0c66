"""An occurrence is due while an earlier run of its task is still going: the overlap policy, and nothing else."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto
from typing import assert_never

from ..model.change import Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState


class Meeting(Enum):
    START = auto()
    """Nothing stands in its way."""
    SKIP = auto()
    """It is recorded, and not run."""
    WAIT = auto()
    """It runs when what goes on has ended."""
    REPLACE = auto()
    """What goes on is asked to end, and then it runs."""


def meet(facts: Facts, entry: Entry) -> Meeting:
    if not facts.live:
        return Meeting.START
    match facts.task.policies.overlap:
        case "skip":
            return Meeting.SKIP
        case "queue":
            return Meeting.SKIP if _somebody_waits(facts, entry) else Meeting.WAIT
        case "queue_all":
            return Meeting.WAIT
        case "replace":
            return Meeting.REPLACE
        case "parallel":
            return Meeting.START
        case never:
            assert_never(never)


def superseded_by(facts: Facts, entry: Entry) -> tuple[Entry, ...]:
    """Retries that a newer due occurrence ends: one that still waits is not going."""
    if entry.origin is not Origin.SCHEDULED or facts.task.policies.overlap in ("queue_all", "parallel"):
        return ()
    return tuple(
        other
        for other in facts.entries
        if other.kind is EntryKind.RETRY and other.origin is Origin.SCHEDULED and not other.in_order
    )


def without_unheld(facts: Facts, now: datetime) -> tuple[Facts, tuple[Run, ...]]:
    """Runs that somebody outside holds cannot be asked to end: where a newer one replaces them, they end here."""
    if facts.task.policies.overlap != "replace":
        return facts, ()
    ended = tuple(
        run._replace(state=RunState.CANCELLED, reason=Reason.REPLACED, ended=now, deadline=None)
        for run in facts.live
        if run.state is RunState.WAITING
    )
    live = tuple(run for run in facts.live if run.state is not RunState.WAITING)
    return facts._replace(live=live) if ended else facts, ended


def replacing(facts: Facts) -> tuple[tuple[str, Reason], ...]:
    """The runs that are asked to end, so that a newer one can start."""
    return tuple((run.id, Reason.REPLACED) for run in facts.live if run.cancel is None)


def backlog(facts: Facts, entry: Entry) -> bool:
    """Whether occurrences that must end in order, retries included, are still before this one."""
    if entry.kind is EntryKind.NEXT and facts.task.policies.overlap == "parallel":
        return False
    return any(
        other.in_order and other.planned < entry.planned and other.origin is entry.origin
        for other in facts.entries
        if other.slot != entry.slot
    )


def occupied(facts: Facts, live: tuple[Run, ...], entry: Entry) -> bool:
    """Whether a run is going that this waiting entry has to let end first; a backlog is one by one also in parallel."""
    if facts.task.policies.overlap != "parallel":
        return bool(live)
    return any(run.in_order and run.origin is entry.origin for run in live)


def released(facts: Facts, live: tuple[Run, ...]) -> tuple[Entry, ...]:
    """The held entries that may try again when only these runs still go on."""
    return tuple(
        entry._replace(stand=Stand.TIMED)
        for entry in facts.entries
        if entry.stand is Stand.HELD and not occupied(facts, live, entry)
    )


def _somebody_waits(facts: Facts, entry: Entry) -> bool:
    waits = (EntryKind.WAITING, EntryKind.MANUAL)
    return any(other.kind in waits and other.slot != entry.slot for other in facts.entries)
