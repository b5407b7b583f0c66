"""Rules of claims and recoveries of every SQL store: slice size, rotation of owners, claim order, checks of decisions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from ..errors import StoreError
from ..model.change import Change, Facts, RunDecision
from ..model.entry import Entry
from ..model.limits import CLAIM_SLICE
from ..model.run import LIVE_STATES, Run
from .codec.columns import entry_order, entry_owner, entry_priority, entry_task
from .codec.json_codecs import instant_of
from .codec.rows import Row

MAX_ENTRIES_PER_OWNER: Final = 16
"""Largest number of entries of one owner before the next owner is served."""


def first_entry_per_task(rows: list[Row]) -> list[Row]:
    """Keep the first entry of each task, in order."""
    if len(set(map(entry_task, rows))) == len(rows):
        return rows
    first_of_task: dict[int, Row] = {}
    for row in rows:
        first_of_task.setdefault(entry_task(row), row)
    return list(first_of_task.values())


def priority_key(row: Row) -> tuple[int, int, int, str]:
    """Sort key of an entry row: highest priority, then due instant, task number, slot."""
    priority, due, task, slot = entry_order(row)
    return -priority, due, task, slot


def interleave_owners(queues: list[list[Row]], turn: int) -> list[Row]:
    """Take `turn` rows of each owner's queue in rotation, up to `CLAIM_SLICE` rows."""
    taken: list[Row] = []
    start = 0
    while len(taken) < CLAIM_SLICE and any(len(queue) > start for queue in queues):
        for queue in queues:
            taken += queue[start : start + turn]
        start += turn
    return taken[:CLAIM_SLICE]


class ClaimPosition:
    """State between two claims: `last_owner` was served last; `has_backlog` tells whether there are ready entries.

    `slice_size` shrinks while decisions are slow, because rows beyond the time budget are read for nothing, and grows back
    up to `max_slice`.
    """

    def __init__(self, max_slice: int = CLAIM_SLICE) -> None:
        self.last_owner = ""
        self.has_backlog = False
        self.max_slice = max_slice
        self.slice_size = max_slice

    def adapt_slice_size(self, decided: int, offered: int) -> None:
        """Adapt the slice size: `decided` of the `offered` entries were decided within the time budget."""
        self.slice_size = (
            min(self.max_slice, 2 * self.slice_size) if decided == offered else max(MAX_ENTRIES_PER_OWNER, decided)
        )

    def order_due(self, rows: list[Row]) -> list[Row]:
        """Return one slice of rows that come by due instant: highest priority first, one entry of each task."""
        rows = rows[: self.slice_size]
        if any(map(entry_priority, rows)):
            rows.sort(key=priority_key)
        return first_entry_per_task(rows)


def order_queued(rows: list[Row]) -> list[Row]:
    """Return rows from the queues of routes, which come by due instant, as they are claimed: owners in turn, each with its
    own entries by priority, then due; one entry of each task."""
    by_owner: dict[str, list[Row]] = {}
    for row in sorted(rows, key=priority_key):
        by_owner.setdefault(entry_owner(row), []).append(row)
    return first_entry_per_task(interleave_owners(list(by_owner.values()), 1))


def divide_slice(owner_count: int) -> tuple[int, int]:
    """Return how many entries of one owner are served in a row, and how many of each owner are read for one slice."""
    turn = max(1, min(MAX_ENTRIES_PER_OWNER, CLAIM_SLICE // owner_count))
    return turn, -(-CLAIM_SLICE // (owner_count * turn)) * turn


def earliest_due(*heads: int | None) -> datetime | None:
    """Return the earliest of the heads of the agenda; None if all are empty."""
    known = [due for due in heads if due is not None]
    return instant_of[min(known)] if known else None


def check_entry_moved(entry: Entry, change: Change) -> None:
    """Raise StoreError if a decision leaves the entry as it is; call it for an entry that is not dropped."""
    if not change.deleted and not any(put.slot == entry.slot for put in change.put):
        raise StoreError(f"The entry {entry.slot} of {entry.task_id} was decided, but would come due for ever.")


def check_recovery(decide: RunDecision, node: str) -> Callable[[Facts, Run, None], Change]:
    """Return the decision of a recovery; it raises StoreError if the node would still hold the run afterwards."""

    def decide_and_check(facts: Facts, run: Run, _: None) -> Change:
        change = decide(facts, run)
        if not change.deleted and not any(_is_released(moved, run, node) for moved in change.updated_runs):
            raise StoreError(f"The run {run.id} was to be recovered, but is still held by {node}.")
        return change

    return decide_and_check


def _is_released(moved: Run, run: Run, node: str) -> bool:
    return moved.id == run.id and (moved.state not in LIVE_STATES or moved.node != node)
