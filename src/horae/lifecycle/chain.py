"""Chains: which occurrences a change ends, and what their end does to the tasks that run after this one.

A store applies the decisions to all successors in the transaction of the change, one level of the chain after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from ..model.chain_row import Arrival, ChainRow, ChainState
from ..model.change import NOTHING, Change, Facts, facts_after
from ..model.entry import CONTROL_KINDS, Entry, EntryKind, slot_for
from ..model.limits import NOTE_CHARACTERS, shorten
from ..model.origin import ChainPlace, Origin, RootOccurrence
from ..model.reason import Reason
from ..model.run import Run, RunState
from ..model.task import OPEN_STATES, PauseCause, Task, TaskState, TaskStatus
from ..schedule import After
from ..schedule.after import Link, On
from .agenda import initial_entry_state
from .control.control import pause
from .due_backlog import MICROSECOND
from .event_rows import removed_entry_run, run_event

_FAILURES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})
FIRING_STATES: Final[dict[On, frozenset[RunState]]] = {
    "succeeded": frozenset({RunState.SUCCEEDED}),
    "failed": _FAILURES,
    "ended": _FAILURES | {RunState.SUCCEEDED},
}
"""States of a predecessor's last run that fire a link; a skipped or cancelled one fires none."""
_NOT_STARTED: Final = frozenset({RunState.SKIPPED, RunState.CANCELLED})


class OccurrenceEnd(NamedTuple):
    """End of an occurrence, for the successors of its task. `run_id` is None where the occurrence was never started."""

    task_id: str
    successors: tuple[str, ...]
    root: RootOccurrence
    state: RunState
    run_id: str | None
    at: datetime


def ended_occurrences(facts: Facts, change: Change) -> tuple[OccurrenceEnd, ...]:
    """Return the occurrences of the task that the change ends: the last attempt has ended, and no further one waits."""
    last: dict[tuple[Origin, datetime], Run] = {}
    for run in (*change.updated_runs, *change.new_runs):
        known = last.get((run.origin, run.planned))
        if not run.live and (known is None or known.attempt < run.attempt):
            last[run.origin, run.planned] = run
    if not last:
        return ()
    after = facts_after(facts, change)
    unfinished = {(run.origin, run.planned) for run in after.live}
    unfinished |= {(entry.origin, entry.planned) for entry in after.entries if entry.kind not in CONTROL_KINDS}
    return tuple(
        OccurrenceEnd(run.task_id, facts.task.successors, run.root, run.state, run.id, run.ended or run.due)
        for occurrence, run in last.items()
        if occurrence not in unfinished and (run.chain is None or run.chain.fires)
    )


class LinkDecision(NamedTuple):
    """Change of a successor. `skipped`: it has no row in the ledger for this root, and its own successors must know."""

    change: Change = NOTHING
    skipped: OccurrenceEnd | None = None


def follow_link(
    facts: Facts, row: ChainRow | None, end: OccurrenceEnd, awaited: Iterable[str], last_planned: datetime | None
) -> LinkDecision:
    """Decide what the end of a predecessor's occurrence does to a task that runs after it.

    `row` is what the task knows of this root; None: nothing. `awaited` are its predecessors that descend from the root
    task, for a new row. `last_planned` is the latest instant that a chained occurrence of the task has.
    """
    schedule = facts.task.schedule
    if not isinstance(schedule, After) or end.task_id not in schedule.predecessors:
        return LinkDecision()
    if row is None:
        row = ChainRow(facts.task.id, end.root, end.at, awaited=tuple(sorted(awaited)))
    if row.state is ChainState.FIRED:
        return LinkDecision()
    row = _with_arrival(row, end)
    fired = [link for link in schedule.links if _has_fired(row, link)]
    if fired if schedule.mode == "any" else len(fired) == len(schedule.links):
        is_open = facts.status.state in OPEN_STATES
        return LinkDecision(_fire(facts, row, fired, last_planned)) if is_open else skip_root(facts, row, last_planned)
    if not set(row.awaited) <= {arrival.predecessor for arrival in row.arrivals}:
        return LinkDecision(Change(chain_rows=(row,)))
    return skip_root(facts, row, last_planned)


def _with_arrival(row: ChainRow, end: OccurrenceEnd) -> ChainRow:
    """Add the end to the row. A retry replaces an earlier end, unless the retry itself was not started."""
    known = {arrival.predecessor: arrival for arrival in row.arrivals}
    if end.task_id not in known or end.state not in _NOT_STARTED:
        known[end.task_id] = Arrival(end.task_id, end.state, end.run_id)
    return row._replace(arrivals=tuple(known.values()), updated=end.at)


def _has_fired(row: ChainRow, link: Link) -> bool:
    return any(arrival.predecessor == link.task and arrival.state in FIRING_STATES[link.on] for arrival in row.arrivals)


def _fire(facts: Facts, row: ChainRow, fired: list[Link], last_planned: datetime | None) -> Change:
    """Put the chained occurrence on the agenda; a paused task, or one that skips its next occurrence, records that.

    A task that is held while its owner moves is not paused for its owner: its occurrence waits for the other deployment.
    """
    task, status = facts.task, facts.status
    predecessors = {link.task for link in fired}
    parents = tuple(a.run_id for a in row.arrivals if a.predecessor in predecessors and a.run_id is not None)
    entry, row = _chained_entry(task, row, parents, last_planned)
    if status.state is TaskState.PAUSED and not _is_moving(status):
        return _skip_row(task, entry, row, Reason.PAUSED)
    if status.skips_left:
        skipped = _skip_row(task, entry, row, Reason.SKIP_REQUESTED)
        return skipped._replace(status=status._replace(skips_left=status.skips_left - 1))
    put = entry._replace(state=initial_entry_state(status))
    return Change(put=(put,), chain_rows=(row._replace(state=ChainState.FIRED),))


def _is_moving(status: TaskStatus) -> bool:
    return status.pause is not None and status.pause.cause is PauseCause.OWNER_MOVING


def skip_root(facts: Facts, row: ChainRow, last_planned: datetime | None) -> LinkDecision:
    """Record that the task has no run for this root: a join in the ledger too, as it was waited for."""
    task, was_skipped = facts.task, row.state is ChainState.SKIPPED
    row = row._replace(state=ChainState.SKIPPED)
    is_join = isinstance(task.schedule, After) and task.schedule.mode == "all"
    if not is_join or was_skipped or facts.status.state not in OPEN_STATES:
        end = OccurrenceEnd(task.id, task.successors, row.root, RunState.SKIPPED, None, row.updated)
        return LinkDecision(Change(chain_rows=(row,)), None if was_skipped else end)
    parents = tuple(arrival.run_id for arrival in row.arrivals if arrival.run_id is not None)
    entry, row = _chained_entry(task, row, parents, last_planned)
    return LinkDecision(_skip_row(task, entry, row, Reason.PREDECESSOR_SKIPPED))


def _chained_entry(
    task: Task, row: ChainRow, parents: tuple[str, ...], last_planned: datetime | None
) -> tuple[Entry, ChainRow]:
    """Return the entry of the chained occurrence: it is due now, and its planned instant is unique within the task."""
    now, planned = row.updated, row.planned
    if planned is None:
        planned = now if last_planned is None else max(now, last_planned + MICROSECOND)
    attempt = row.attempt + 1
    entry = Entry(
        task_id=task.id,
        slot=slot_for(EntryKind.CHAIN, Origin.CHAIN, planned),
        kind=EntryKind.CHAIN,
        due=now,
        planned=planned,
        owner=task.owner,
        priority=task.policies.priority,
        origin=Origin.CHAIN,
        attempt=attempt,
        forgiven=attempt - 1,
        chain=ChainPlace(row.root, parents),
    )
    return entry, row._replace(planned=planned, attempt=attempt)


def _skip_row(task: Task, entry: Entry, row: ChainRow, reason: Reason) -> Change:
    skipped = removed_entry_run(task, entry, reason, row.updated)
    events = (run_event(skipped, row.updated),)
    return Change(new_runs=(skipped,), events=events, chain_rows=(row._replace(state=ChainState.SKIPPED),))


def lose_predecessor(facts: Facts, deleted: Task, now: datetime) -> Change:
    """Pause an active task whose predecessor was deleted; a paused one keeps its cause."""
    if facts.status.state is not TaskState.ACTIVE:
        return NOTHING
    note = shorten(f"predecessor deleted: {deleted.name}", NOTE_CHARACTERS)
    return pause(facts, now, cause=PauseCause.PREDECESSOR_DELETED, note=note)
