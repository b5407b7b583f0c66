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
from ...model.run import LIVE_STATES
from ...ports.store import Claim, Claimed
from ..codec.json_codecs import instant_of
from ..codec.rows import ENTRY_WIDTH, decode_entry, new_tuple
from ..task_cache import TaskCache
from .claim_order import ClaimOrder
from .connection import Row, SqliteConnection
from .load_facts import LoadedFacts
from .statements import sql
from .unit_of_work import UnitOfWork

_AGENDA_HEAD: Final = sql("agenda_head")
_NEXT_TOKEN: Final = sql("next_token")

_MAX_DECIDE_SECONDS: Final = 0.005
"""CPU time budget of one slice; waiting time does not count, because stopping early would not shorten it."""
_CLOCK_CHECK_INTERVAL: Final = 16
_VERSION_COLUMN: Final = ENTRY_WIDTH
_ENTRY_COUNT_COLUMN: Final = ENTRY_WIDTH + 1


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
        joined, timed, ready = connection.query(_AGENDA_HEAD, {"node": node})[0]
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
            self._order.last_owner = rows[decided - 1][5]
        _, timed, ready = connection.query(_AGENDA_HEAD, {"node": node})[0]
        return _build_claim(claimed, decided, now, timed, ready)

    def _fire_entries(
        self, connection: SqliteConnection, rows: list[Row], request: _ClaimRequest, claimed: list[Claimed]
    ) -> int:
        """Decide the entries and write the runs, in a savepoint.

        If the ledger already has one of the runs, all entries are decided again with a lookup of each new run.
        """
        token: int = connection.query(_NEXT_TOKEN)[0][0]
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
        loaded = LoadedFacts(connection, self._task_cache, {row[0]: row[_VERSION_COLUMN] for row in rows})
        loaded.read_entries([row[0] for row in rows if row[_ENTRY_COUNT_COLUMN] > 1])
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
            number = row[0]
            cached = loaded.tasks[number]
            task = cached[2]
            entry = decode_entry(row, task[0])
            entries = loaded.entries.get(number) or (entry,)
            facts = loaded.build_facts(cached, entries)
            change = decide(facts, entry, token)
            if check_existing:
                if existing := unit_of_work.find_existing_runs(number, change):
                    change = decide(facts._replace(existing_run_ids=existing), entry, token)
                change = unit_of_work.deduplicate_runs(number, change)
            if row[1] not in change.dropped:
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
