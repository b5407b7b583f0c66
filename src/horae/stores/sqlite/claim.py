"""Claim: turns due agenda entries into runs, one slice per transaction, with a rotation of owners in a backlog."""

from __future__ import annotations

from datetime import datetime
from time import thread_time
from typing import Final, NamedTuple

import apsw

from ...errors import StoreError
from ...model.change import Change, FireDecision
from ...model.entry import Entry
from ...model.ids import to_microseconds
from ...model.limits import CLAIM_SLICE
from ...model.run import LIVE_STATES
from ...ports.store import Claim, Claimed
from ..codec.columns import entry_count, entry_key, entry_owner, entry_priority, entry_task, entry_task_version
from ..codec.json_codecs import instant_of
from ..codec.rows import decode_entry, new_tuple
from ..owner_rotation import MAX_ENTRIES_PER_OWNER, first_entry_per_task, interleave_owners, priority_key
from ..task_cache import TaskCache
from .connection import Row, SqliteConnection, sql
from .load_facts import LoadedFacts
from .unit_of_work import UnitOfWork

_AGENDA_HEAD: Final = sql("agenda_head")
_NEXT_TOKEN: Final = sql("next_token")

_MAX_DECIDE_SECONDS: Final = 0.005
"""CPU time budget of one slice; waiting time does not count, because stopping early would not shorten it."""
_CLOCK_CHECK_INTERVAL: Final = 16


class _ClaimRequest(NamedTuple):
    now: datetime
    node: str
    room: int
    decide: FireDecision


class Claimer:
    def __init__(self, cache: TaskCache) -> None:
        self._task_cache = cache
        self._order = ClaimOrder()

    def peek(self, connection: SqliteConnection, now: datetime, node: str, room: int) -> Claim | None:
        """Return the claim if nothing is due, without a write; None if a transaction is needed."""
        ((joined, timed, ready),) = connection.query(_AGENDA_HEAD, {"node": node})
        self._order.has_backlog = ready is not None
        if not joined:
            return Claim()
        if room > 0 and any(due is not None and due <= to_microseconds(now) for due in (timed, ready)):
            return None
        return _build_claim([], 0, now, timed, ready)

    def claim(self, connection: SqliteConnection, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        idle_claim = self.peek(connection, now, node, room)
        if idle_claim is not None:
            return idle_claim
        rows = self._order.read_slice(connection, to_microseconds(now))
        claimed: list[Claimed] = []
        decided = self._fire_entries(connection, rows, _ClaimRequest(now, node, room, decide), claimed) if rows else 0
        if decided:
            self._order.last_owner = entry_owner(rows[decided - 1])
        ((_, timed, ready),) = connection.query(_AGENDA_HEAD, {"node": node})
        return _build_claim(claimed, decided, now, timed, ready)

    def _fire_entries(
        self, connection: SqliteConnection, rows: list[Row], request: _ClaimRequest, claimed: list[Claimed]
    ) -> int:
        """Decide the entries and write the runs, in a savepoint.

        If the ledger already has one of the runs, all entries are decided again with a lookup of each new run.
        """
        ((token,),) = connection.query(_NEXT_TOKEN)
        connection.query("SAVEPOINT slice")
        try:
            decided = self._decide_entries(connection, rows, request, token, claimed, check_existing=False)
        except apsw.ConstraintError:
            connection.query("ROLLBACK TO slice")
            self._task_cache.clear()
            claimed.clear()
            decided = self._decide_entries(connection, rows, request, token, claimed, check_existing=True)
        connection.query("RELEASE slice")
        return decided

    def _decide_entries(
        self,
        connection: SqliteConnection,
        rows: list[Row],
        request: _ClaimRequest,
        token: int,
        claimed: list[Claimed],
        *,
        check_existing: bool,
    ) -> int:
        """Decide entries in order until `room` runs are claimed or the time budget is used; return how many."""
        loaded = LoadedFacts(connection, self._task_cache, dict(map(entry_task_version, rows)))
        loaded.read_entries([entry_task(row) for row in rows if entry_count(row) > 1])
        unit_of_work = UnitOfWork(connection, self._task_cache)
        until = thread_time() + _MAX_DECIDE_SECONDS
        room, decide = request.room, request.decide
        decided = 0
        for row in rows:
            if len(claimed) >= room:
                break
            if decided % _CLOCK_CHECK_INTERVAL == 0 and thread_time() > until:
                self._order.adapt_slice_size(decided, len(rows))
                break
            number, slot = entry_key(row)
            cached = loaded.tasks[number]
            task = cached.task
            entry = decode_entry(row, task.id)
            entries = loaded.entries.get(number) or (entry,)
            facts = loaded.build_facts(cached, entries)
            change = decide(facts, entry, token)
            if check_existing:
                if existing := unit_of_work.find_existing_runs(number, change):
                    change = decide(facts._replace(existing_run_ids=existing), entry, token)
                change = unit_of_work.deduplicate_runs(number, change)
            if slot not in change.dropped:
                _check_entry_moved(entry, change)
            unit_of_work.add_change(cached, entries, change, loaded)
            for run in change.new_runs:
                if run.state in LIVE_STATES:
                    claimed.append(new_tuple(Claimed, (change.task or task, run)))  # noqa: PERF401 - there is one
            decided += 1
        else:
            self._order.adapt_slice_size(decided, decided)
        unit_of_work.flush()
        return decided


def _build_claim(claimed: list[Claimed], decided: int, now: datetime, timed: int | None, ready: int | None) -> Claim:
    heads = [due for due in (timed, ready) if due is not None]
    head = instant_of[min(heads)] if heads else None
    return Claim(tuple(claimed), decided, head is not None and head <= now, head)


def _check_entry_moved(entry: Entry, change: Change) -> None:
    if not change.deleted and not any(put.slot == entry.slot for put in change.put):
        raise StoreError(f"The entry {entry.slot} of {entry.task_id} was decided, but would come due for ever.")


_TIMED_SLICE: Final = sql("timed_slice")
_READY_SLICE: Final = sql("ready_slice")
_QUEUE_OLDEST: Final = sql("queue_oldest")
_QUEUE_NEWEST: Final = sql("queue_newest")
_UNQUEUE_NOT_DUE: Final = sql("unqueue_not_due")
_READY_OWNERS: Final = sql("ready_owners")
_DUE_ORDER_SUFFICES: Final = sql("due_order_suffices")

_QUEUE_BATCH: Final = 500
"""Entries that are made ready from each end of a backlog: recent entries must not wait for all of the oldest."""


class ClaimOrder:
    """State of the rotation between claims.

    `last_owner` was served last; `has_backlog` tells whether there are ready entries. `slice_size` shrinks while decisions
    are slow, because rows beyond the time budget would be read in vain.
    """

    def __init__(self) -> None:
        self.last_owner = ""
        self.has_backlog = False
        self.slice_size = CLAIM_SLICE

    def adapt_slice_size(self, decided: int, offered: int) -> None:
        """Adapt the slice size: `decided` of the `offered` entries were decided within the time budget."""
        self.slice_size = (
            min(CLAIM_SLICE, 2 * self.slice_size) if decided == offered else max(MAX_ENTRIES_PER_OWNER, decided)
        )

    def read_slice(self, connection: SqliteConnection, now: int) -> list[Row]:
        """Read rows of due entries, at most one per task, in claim order."""
        rows = [] if self.has_backlog else connection.query(_TIMED_SLICE, (now, self.slice_size + 1))
        if self.has_backlog or (len(rows) > self.slice_size and not _is_due_order_sufficient(connection)):
            rows = self._read_rotation(connection, now)
        else:
            rows = rows[: self.slice_size]
            if any(map(entry_priority, rows)):
                rows.sort(key=priority_key)
        return first_entry_per_task(rows)

    def _read_rotation(self, connection: SqliteConnection, now: int) -> list[Row]:
        """Make more due entries ready, then read ready entries in rotation, from the owner after the last one."""
        connection.query(_QUEUE_OLDEST, (now, _QUEUE_BATCH))
        connection.query(_QUEUE_NEWEST, (now, _QUEUE_BATCH))
        connection.query(_UNQUEUE_NOT_DUE, (now,))
        owners = self._read_owners(connection)
        if not owners:
            return []
        rows_per_turn = max(1, min(MAX_ENTRIES_PER_OWNER, CLAIM_SLICE // len(owners)))
        share = -(-CLAIM_SLICE // (len(owners) * rows_per_turn)) * rows_per_turn
        queues = [connection.query(_READY_SLICE, (owner, share)) for owner in owners]
        if sum(map(len, queues)) < CLAIM_SLICE:
            # Owners with fewer entries leave part of the slice to owners with more.
            for index, owner in enumerate(owners):
                if len(queues[index]) == share:
                    queues[index] = connection.query(_READY_SLICE, (owner, CLAIM_SLICE))
        return interleave_owners(queues, rows_per_turn)[: self.slice_size]

    def _read_owners(self, connection: SqliteConnection) -> list[str]:
        """Return the next owners with ready entries, at most `CLAIM_SLICE`."""
        # The smallest string after a name is the name followed by a null character.
        first_owner = f"{self.last_owner}\0" if self.last_owner else ""
        owners = connection.query(_READY_OWNERS, {"from": first_owner, "most": CLAIM_SLICE + 1})
        if len(owners) < CLAIM_SLICE and first_owner:
            wrapped = connection.query(_READY_OWNERS, {"from": "", "most": CLAIM_SLICE + 1})
            owners += [row for row in wrapped if row not in owners]
        return [owner for (owner,) in owners[:CLAIM_SLICE]]


def _is_due_order_sufficient(connection: SqliteConnection) -> bool:
    """Whether the order of due instants needs no rotation of owners, because one owner has all tasks and none has a priority."""
    ((suffices,),) = connection.query(_DUE_ORDER_SUFFICES)
    return bool(suffices)
