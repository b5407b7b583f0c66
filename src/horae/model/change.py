"""Input (`Facts`) and output (`Change`) of a lifecycle decision: the only interface between the rules and the stores.

A store loads the facts of a task and applies the change, in one transaction, without knowing the rules in between.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from .chain_row import DEFAULT_CHAIN_LIMIT, ChainLimit, ChainRow
from .entry import Entry
from .events.event import Event
from .lanes.idle import IdleRun
from .lanes.lane import LaneUse
from .messages import DEFAULT_QUOTA, CursorMove, NewMessage, StreamQuota
from .outcome import Settlement
from .reason import Reason
from .record import RecordWrite
from .run import Run
from .task import Task, TaskStatus


class Facts(NamedTuple):
    """Current state of one task: `entries` are all its agenda entries, `live` its runs that have not ended.

    `lanes` are the lanes in which a run of the task takes a slot. `block_reason` says why its owner or lane is
    blocked, None when it is not. `existing_run_ids` are runs that the ledger holds already: a store that meets one of them
    in a change calls the decision again with it, so that no run is inserted twice.
    """

    task: Task
    status: TaskStatus
    entries: tuple[Entry, ...] = ()
    live: tuple[Run, ...] = ()
    lanes: tuple[LaneUse, ...] = ()
    block_reason: Reason | None = None
    existing_run_ids: frozenset[str] = frozenset()


class Change(NamedTuple):
    """Writes of one decision, applied in one transaction or not at all.

    task       its definition, created or edited              status         its new status
    new_runs   started, or created as skipped                 updated_runs   live runs with new state, result or end
    cancelled  live runs that are asked to end, and why       put            agenda entries to insert or replace, by slot
    dropped    slots to remove from the agenda                events         events to publish, in this order
    deleted    the task is removed with its history           attached       records, written with the change
    chain_rows what its links know of root occurrences        messages       appended to streams of the task's owner
    moves      cursors of readers that its run has moved      idle_runs      runs that are idle in a lane, or asked to yield

    A new live run takes a slot in each of its lanes, and a run that ends frees them. For every freed lane slot the
    store makes the next parked entry of that lane (owners in turn, then priority, then due) claimable again. A run that
    changes its state is no longer idle.
    When another writer has changed an attached record, nothing is written: a `Conflict` with the code `record_changed`.
    """

    task: Task | None = None
    status: TaskStatus | None = None
    new_runs: tuple[Run, ...] = ()
    updated_runs: tuple[Run, ...] = ()
    cancelled: tuple[tuple[str, Reason], ...] = ()
    put: tuple[Entry, ...] = ()
    dropped: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    deleted: bool = False
    attached: tuple[RecordWrite, ...] = ()
    chain_rows: tuple[ChainRow, ...] = ()
    messages: tuple[NewMessage, ...] = ()
    moves: tuple[CursorMove, ...] = ()
    idle_runs: tuple[IdleRun, ...] = ()
    stream_quota: StreamQuota = DEFAULT_QUOTA
    """Limits of the streams that `messages` are appended to."""
    chain_limit: ChainLimit = DEFAULT_CHAIN_LIMIT
    """How deep the chains of `task` may become by its links."""


def facts_after(facts: Facts, change: Change) -> Facts:
    """Return the facts of the task as they are once the change is applied."""
    entries = {entry.slot: entry for entry in facts.entries if entry.slot not in change.dropped}
    entries.update((entry.slot, entry) for entry in change.put)
    live = {run.id: run for run in facts.live}
    live.update((run.id, run) for run in (*change.updated_runs, *change.new_runs))
    return facts._replace(
        task=change.task or facts.task,
        status=change.status or facts.status,
        entries=tuple(entries.values()),
        live=tuple(run for run in live.values() if run.live),
    )


def combine_decisions(facts: Facts, first: Change, decide: Callable[[Facts], Change]) -> Change:
    """Combine two decisions into one change: the second one sees the facts after the first."""
    second = decide(facts_after(facts, first))
    put = {entry.slot: entry for entry in (*first.put, *second.put)}
    dropped_slots = dict.fromkeys((*first.dropped, *second.dropped))
    for slot in second.dropped:
        put.pop(slot, None)
    return Change(
        task=second.task or first.task,
        status=second.status or first.status,
        new_runs=(*first.new_runs, *second.new_runs),
        updated_runs=(*first.updated_runs, *second.updated_runs),
        cancelled=(*first.cancelled, *second.cancelled),
        put=tuple(put.values()),
        dropped=tuple(slot for slot in dropped_slots if slot not in put),
        events=(*first.events, *second.events),
        deleted=first.deleted or second.deleted,
        attached=(*first.attached, *second.attached),
        messages=(*first.messages, *second.messages),
        moves=(*first.moves, *second.moves),
        chain_rows=(*first.chain_rows, *second.chain_rows),
        idle_runs=(*first.idle_runs, *second.idle_runs),
        stream_quota=second.stream_quota if second.messages else first.stream_quota,
        chain_limit=min(first.chain_limit, second.chain_limit),
    )


class _Tagged(Change):
    """A change whose type says what it holds. A copy with other fields holds something else: it is a plain `Change`."""

    __slots__ = ()

    def _replace(self, **fields: Any) -> Change:  # type: ignore[override]
        return Change._make(self)._replace(**fields)


class OrdinaryStart(_Tagged):
    """An ordinary start and nothing else: the only entry of an active task without live runs or lanes became a run.

    `new_runs` is that run, with defaults in all fields after `started`; `status` counts one occurrence more. The entry is
    dropped, or put again with later instants alone. `events` is the start of the run.
    """

    __slots__ = ()


class LanedStart(_Tagged):
    """A start in lanes and nothing else: the only entry of an active task without live runs became a run.

    As `OrdinaryStart`, but the run takes a slot in each of its lanes, and the entry may have waited for one.
    """

    __slots__ = ()


class OrdinarySuccess(_Tagged):
    """An ordinary success and nothing else: the only live run of an active task, in no lane, has succeeded.

    `updated_runs` is that run, with its start, end and result; `status` has no failures, the end and the summary. The
    agenda stays. The task stays active or is completed, and `events` says both.
    """

    __slots__ = ()


class Start(NamedTuple):
    """What differs between the ordinary starts of one class: with the task, it says all that an `OrdinaryStart` says."""

    run: Run
    status: TaskStatus
    following: Entry | None
    """The entry of the next occurrence; None: the agenda of the task is empty now."""


class Success(NamedTuple):
    """What an ordinary success says besides its run: an `OrdinarySuccess` without the values that follow from these."""

    started: datetime | None
    ended: datetime
    result: str | None
    status: TaskStatus


TAGS: Final = frozenset({OrdinaryStart, LanedStart, OrdinarySuccess})
"""A change of one of these types has no consequences for other tasks, and nothing attached."""


NOTHING: Final = Change()

FireDecision: TypeAlias = Callable[[Facts, Entry, int], Change]
"""(facts, the entry that came due, the fencing token of this claim)"""
SettleDecision: TypeAlias = Callable[[Facts, Run, Settlement], Change]
SuccessDecision: TypeAlias = Callable[
    [Task, TaskStatus, tuple[Entry, ...], tuple[Run, ...], Run, Settlement], Success | None
]
"""Decides the ordinary successes among settlements; None for any other."""
RunDecision: TypeAlias = Callable[[Facts, Run], Change]
ControlDecision: TypeAlias = Callable[[Facts], Change]
