"""Overlap policy: decides about an occurrence that comes due while an earlier run of its task is live."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto
from typing import Final, assert_never

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.inputs.run_input import gate_failures, is_gate_check
from ..model.origin import AUTOMATIC
from ..model.reason import Reason
from ..model.run import Origin, Run, RunState
from .event_rows import run_event, skip_rows
from .occurrence_end import cancel_waiting_runs, deadline_slots

_GATED_KINDS: Final = frozenset({EntryKind.NEXT, EntryKind.WAITING, EntryKind.CHAIN})
"""Entries that wait while the gate of an earlier occurrence fails."""


class OverlapAction(Enum):
    SKIP = auto()
    """Record the occurrence as skipped."""
    WAIT = auto()
    """Hold the occurrence until the live run has ended."""
    REPLACE = auto()
    """Cancel the live run, then start the occurrence."""


def decide_overlap(facts: Facts, entry: Entry) -> OverlapAction:
    """Return what the overlap policy does with a blocked entry."""
    match facts.task.policies.overlap:
        case "skip":
            return OverlapAction.SKIP
        case "queue":
            return OverlapAction.SKIP if _has_waiter(facts, entry) else OverlapAction.WAIT
        case "queue_all" | "parallel":
            # Under `parallel` only an ordered backlog waits.
            return OverlapAction.WAIT
        case "replace":
            return OverlapAction.REPLACE
        case never:
            assert_never(never)


def must_wait(facts: Facts, entry: Entry) -> bool:
    """Return whether a live run, a retry that counts as one, or an earlier entry of an ordered backlog must end before
    this entry may start.

    An ordered backlog runs one by one under `parallel` too. Nothing but a request starts while the gate fails. A check
    of the gate waits for nothing, and nothing waits for it.
    """
    if is_gate_check(entry.input):
        return False
    if entry.kind in _GATED_KINDS and _is_gate_failing(facts, entry.origin):
        return True
    parallel = facts.task.policies.overlap == "parallel"
    if parallel and not entry.in_order:
        return False
    if any(not parallel or _is_ordered_with(run, entry) for run in facts.live if not is_gate_check(run.input)):
        return True
    if entry.kind is not EntryKind.RETRY and blocking_retries(facts):
        return True
    return _waits_for_backlog(facts, entry)


def blocking_retries(facts: Facts) -> tuple[Entry, ...]:
    """Return the waiting retries that count as live runs (`retry.superseded_by_next: false`).

    One that waits for an ordered backlog does not count, so that no two entries wait for each other; one of a paused task
    does not either. Under `replace` a newer occurrence ends them, and under `parallel` nothing waits for them.
    """
    policies = facts.task.policies
    if policies.retry.superseded_by_next or policies.overlap in ("replace", "parallel"):
        return ()
    return tuple(
        entry
        for entry in facts.entries
        if entry.kind is EntryKind.RETRY
        and entry.state is not EntryState.ASLEEP
        and not _waits_for_backlog(facts, entry)
    )


def gate_retries(facts: Facts, origin: Origin) -> tuple[Entry, ...]:
    """Return the waiting retries of a gate that failed; those of a paused task sleep and do not count."""
    if facts.task.policies.gate is None:
        return ()
    return tuple(
        entry
        for entry in facts.entries
        if entry.kind is EntryKind.RETRY
        and entry.origin is origin
        and entry.state is not EntryState.ASLEEP
        and gate_failures(entry.input)
    )


def _is_gate_failing(facts: Facts, origin: Origin) -> bool:
    """Return whether the gate has failed and is tried again, now or later."""
    if facts.task.policies.gate is None:
        return False
    is_tried = any(run.origin is origin and gate_failures(run.input) for run in facts.live)
    return is_tried or bool(gate_retries(facts, origin))


def superseded_retries(facts: Facts, entry: Entry) -> tuple[Entry, ...]:
    """Return the waiting retries that a newer due occurrence ends.

    Where they count as live runs, only `replace` ends them, for a requested run too.
    """
    policies = facts.task.policies
    if policies.overlap in ("queue_all", "parallel") or is_gate_check(entry.input):
        return ()
    if policies.retry.superseded_by_next:
        is_newer = entry.origin in AUTOMATIC
    else:
        is_newer = policies.overlap == "replace" and entry.origin is not Origin.BACKFILL
    if not is_newer:
        return ()
    return tuple(
        other
        for other in facts.entries
        if other.kind is EntryKind.RETRY
        and _is_replaceable(other)
        and other.planned < entry.planned
        and not gate_failures(other.input)
    )


def superseded_rows(facts: Facts, ended: tuple[Entry, ...], now: datetime) -> tuple[Run, ...]:
    """Return the skipped rows of retries and waiters that a newer occurrence ends."""
    replaces_retries = not facts.task.policies.retry.superseded_by_next
    rows: list[Run] = []
    for entry in ended:
        is_replaced = replaces_retries and entry.kind is EntryKind.RETRY
        rows += skip_rows(facts, (entry,), Reason.REPLACED if is_replaced else Reason.SUPERSEDED, now)
    return tuple(rows)


def inherit_deaths(entry: Entry, ended: tuple[Entry, ...]) -> Entry:
    """Return the entry with the process deaths of the retries that it supersedes: otherwise a task that kills its process
    every time would never be quarantined where the next occurrence always comes first."""
    deaths = max((other.deaths for other in ended), default=0)
    return entry if deaths <= entry.deaths else entry._replace(deaths=deaths)


def replaced_waiters(facts: Facts) -> tuple[Entry, ...]:
    """Return the waiting entries that a newer occurrence supersedes together with the run they wait for."""
    return tuple(other for other in facts.entries if _is_waiter(other) and _is_replaceable(other))


def replaced_runs(facts: Facts) -> tuple[Run, ...]:
    """Return the live runs to cancel for a newer one; runs of an ordered backlog and checks of the gate are never replaced."""
    return tuple(run for run in facts.live if not run.in_order and not is_gate_check(run.input))


def _waits_for_backlog(facts: Facts, entry: Entry) -> bool:
    return any(
        _is_ordered_with(other, entry) and other.planned < entry.planned
        for other in facts.entries
        if other.slot != entry.slot
    )


def _is_ordered_with(other: Run | Entry, entry: Entry) -> bool:
    return other.in_order and other.origin is entry.origin


def _is_replaceable(entry: Entry) -> bool:
    return entry.origin in AUTOMATIC and not entry.in_order


def _has_waiter(facts: Facts, entry: Entry) -> bool:
    """Return whether another entry is queued; an ordered backlog does not count, it did not come due during a run."""
    return any(
        (other.kind is EntryKind.MANUAL or _is_waiter(other)) and other.slot != entry.slot and not other.in_order
        for other in facts.entries
        if not is_gate_check(other.input)
    )


def _is_waiter(entry: Entry) -> bool:
    """Return whether an entry waits for an earlier run; a chained one may also be due and not claimed yet."""
    return entry.kind is EntryKind.WAITING or (entry.kind is EntryKind.CHAIN and entry.waited)


def cancel_replaced_runs(facts: Facts, change: Change, now: datetime) -> Change:
    """Add the cancellation of the replaced runs to `change`, which queues the newer occurrence."""
    runs = replaced_runs(facts)
    ended = cancel_waiting_runs(runs, Reason.REPLACED, now)
    executing = (run for run in runs if run.state is not RunState.WAITING and run.cancel is None)
    status = change.status or facts.status
    if any(run.origin in AUTOMATIC for run in ended):
        status = status._replace(last_end=now)
    return change._replace(
        status=status,
        updated_runs=ended,
        cancelled=tuple((run.id, Reason.REPLACED) for run in executing),
        dropped=(*change.dropped, *(slot for run in ended for slot in deadline_slots(facts, run))),
        events=(*(run_event(run, now) for run in ended), *change.events),
    )
