"""Rules of a unit of work that hold in every SQL store: rows of entries, offered lanes, and checks of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, TypeAlias

from ..errors import HoraeError, StoreError
from ..model.change import Change
from ..model.entry import CLAIMABLE, Entry
from ..model.lanes.route import is_route
from ..model.refusals import refuse
from ..model.run import LIVE_STATES, Run
from ..model.task import Task
from .codec.columns import TaskIdentity, edited_task_identity, new_task_identities
from .codec.rows import Row, encode_entry
from .task_cache import CachedTask

EntryRows: TypeAlias = MutableMapping[tuple[int, str], Row | None]
"""Entry rows by task and slot; None deletes the entry."""


class PendingChanges:
    """Base of the units of work: the lanes whose free slots are offered to parked entries after the write."""

    def __init__(self) -> None:
        self._freed_lanes: set[str] = set()
        self._new_run_ids: set[str] = set()
        """Ids of the new runs of this unit of work; the ledger was checked not to have them."""

    def offer_slots(self, lane: str) -> None:
        self._freed_lanes.add(lane)

    def _offer_claimable_lanes(self, entries: Iterable[Entry]) -> None:
        """Offer the lanes of claimable entries: an entry may have been unparked for a free slot, and if it does not take
        that slot, the next parked entry must be unparked."""
        self._freed_lanes.update(
            entry.lane
            for entry in entries
            if entry.lane is not None and entry.state in CLAIMABLE and not is_route(entry.lane)
        )

    def _add_entry_changes(self, rows: EntryRows, number: int, entries: tuple[Entry, ...], change: Change) -> None:
        with_lane = [entry for entry in entries if entry.lane is not None]
        if with_lane:
            changed_slots = {*change.dropped, *(entry.slot for entry in change.put)}
            self._offer_claimable_lanes(entry for entry in with_lane if entry.slot in changed_slots)
        for slot in change.dropped:
            rows[number, slot] = None
        for entry in change.put:
            rows[number, entry.slot] = encode_entry(number, entry)


def lanes_taken(run: Run) -> tuple[str, ...]:
    """Return the lanes in which the run takes a slot: those of a live run."""
    return run.lanes if run.state in LIVE_STATES else ()


def require_live(cached: CachedTask, run_id: str) -> Run:
    """Return a live run of the task; raises StoreError if it is not live."""
    before = cached.find_run(run_id)
    if before is None:
        raise StoreError(f"The run {run_id} is not live, and what has ended stays so; nothing was written.")
    return before


def require_same_task(before: Task, after: Task) -> None:
    if after.id != before.id:
        raise StoreError(f"The task {before.id} cannot become {after.id}; nothing was written.")


def require_definition(change: Change) -> Task:
    """Return the task that a change creates; raises StoreError if it defines none."""
    if change.task is None:
        raise StoreError("Only a change that defines a task can make one; nothing was written.")
    return change.task


def list_identities(new_tasks: list[Any], edited_tasks: Iterable[Row]) -> list[TaskIdentity]:
    """Return the identities of new tasks (the values of all rows, concatenated) and of edited ones."""
    return [*new_task_identities(new_tasks), *map(edited_task_identity, edited_tasks)]


def find_clash(
    identities: Iterable[TaskIdentity], numbers_by_id: Mapping[str, int], numbers_by_key: Mapping[tuple[str, str], int]
) -> HoraeError | None:
    """Return the error for the first id or key that belongs to another task or occurs twice; None if there is none."""
    ids, keys = dict(numbers_by_id), dict(numbers_by_key)
    for number, task_id, owner, key in identities:
        if ids.setdefault(task_id, number) != number:
            return StoreError("A task with this id is there already; nothing was written.")
        if key is not None and keys.setdefault((owner, key), number) != number:
            return refuse("key_taken", key=key)
    return None
