"""Claim: turns due agenda entries into runs, one slice per transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from time import thread_time
from typing import Final, NamedTuple, TypeAlias

from ....lifecycle.batch import ClaimDecision
from ....model.change import Change, Facts, FireDecision, Start
from ....model.entry import Entry
from ....model.ids import to_microseconds
from ....model.lanes.route import is_route
from ....model.limits import CLAIM_SLICE
from ....model.run import LIVE_STATES
from ....ports.store import Claim, Claimed, LinkObserver
from ...chains import ignore_links
from ...claim_rules import check_entry_moved, earliest_due, order_queued
from ...codec.columns import entry_key, entry_lane, entry_owner, entry_task, entry_task_version
from ...codec.json_codecs import decode
from ...codec.rows import Row, decode_entry, new_tuple
from ...start_classes import StartClasses
from ...task_cache import CachedTask, TaskCache
from ..connection import DuplicateRunError, Statements, Transactions
from ..dialect import Dialect
from ..load_facts import LaneState, LoadedFacts
from ..unit_of_work import UnitOfWork
from .claim_order import ClaimOrder
from .lane_rates import wake_lanes

_CLOCK_CHECK_INTERVAL: Final = 16
_MAX_RESTRICTED: Final = 64
"""Number of restricted names that `begin_claim` returns; it returns one more if there are more."""
_LOCKED_RETRY_DELAY: Final = timedelta(milliseconds=50)
"""Delay until due entries that another node has locked are tried again: that node may have died in the middle."""


class ClaimRequest(NamedTuple):
    """Arguments of one claim."""

    now: datetime
    node: str
    room: int
    decide: FireDecision
    queues: list[str] | None = None
    """Queues of routes whose entries are claimed; None: the agenda of all nodes."""
    has_woken: bool = False
    """Whether the lanes whose wake-up is due have been woken."""

    def is_wakeup_due(self, wake_at: int | None) -> bool:
        if wake_at is None or self.has_woken or self.queues is not None:
            return False
        return wake_at <= to_microseconds(self.now)


class _ClaimStart(NamedTuple):
    """Row of `begin_claim`: the fencing token of this claim, the next wake-up of a lane, and the head of the backlog.
    `restricted_names` are owners with a limit or a block, and blocked lanes, as JSON."""

    token: int
    wake_at: int | None
    ready: int | None
    restricted_names: str | None

    @property
    def restricted(self) -> frozenset[str] | None:
        """The names as a set; None where there are too many, so that those of the claimed tasks have to be read."""
        if self.restricted_names is None:
            return frozenset()
        names: list[str] = decode(self.restricted_names)
        return frozenset(names) if len(names) <= _MAX_RESTRICTED else None


_Claimed: TypeAlias = tuple[Claim, UnitOfWork | None]
"""A claim and its unit of work; None if nothing was written."""
_WAKEUP_DUE: Final = Claim(more=True)
"""Answer of a claim that has to wake lanes first. With concurrent writers that is a transaction of its own: a claim locks
lanes after tasks."""


class Claimer:
    """Claims due entries for this node."""

    def __init__(self, database: Transactions, cache: TaskCache, dialect: Dialect) -> None:
        self._database = database
        self._task_cache = cache
        self._dialect = dialect
        self._claim_order = ClaimOrder(dialect)
        self._head: datetime | None = None
        self.on_linked: LinkObserver = ignore_links

    async def claim(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        """Claim up to `room` runs. An idle node must cost no write: the heads of the agenda are read first, unless that
        costs a round trip and an entry is known to be due."""
        request = ClaimRequest(now, node, room, decide)
        if room <= 0:
            return _build_idle_claim(await self._database.lookup("agenda_heads_of_node", node), now)
        is_known_due = self._dialect.has_concurrent_writers and self._head is not None and self._head <= now
        return await self._claim_slice(request, peeks=not is_known_due)

    async def claim_queued(self, now: datetime, node: str, room: int, decide: FireDecision, queues: list[str]) -> Claim:
        """Claim up to `room` runs of entries in these queues; the next due instant is that of the queues."""
        if room <= 0:
            return await self._claim_without_room(now, node, queues)
        head = self._head
        try:
            return await self._claim_slice(ClaimRequest(now, node, room, decide, queues))
        finally:
            self._head = head

    async def _claim_without_room(self, now: datetime, node: str, queues: list[str]) -> Claim:
        """Return the head of these queues. Nothing is decided because there is no room, not because of locks."""
        if not await self._database.lookup("agenda_heads_of_node", node):
            return Claim()
        return _build_idle_claim(await self._database.lookup("route_queues_head", queues), now)

    async def _claim_slice(self, request: ClaimRequest, *, peeks: bool = False) -> Claim:
        try:
            claim = await self._claim_and_cache(request, check_ledger=False, peeks=peeks)
        except DuplicateRunError:
            # Where a claim wakes lanes itself, that was rolled back with it.
            again = request._replace(has_woken=self._dialect.has_concurrent_writers)
            return await self._claim_and_cache(again, check_ledger=True, peeks=False)
        if claim is not _WAKEUP_DUE:
            return claim
        await self._database.transact(lambda connection: _wake_lanes(connection, request.now))
        return await self._claim_slice(request._replace(has_woken=True))

    async def _claim_and_cache(self, request: ClaimRequest, *, check_ledger: bool, peeks: bool) -> Claim:
        claim, unit = await self._database.transact(
            lambda connection: self._claim(connection, request, check_ledger=check_ledger),
            peek=(lambda connection: self._peek(connection, request)) if peeks else None,
        )
        if unit is not None:
            unit.update_cache(self._task_cache)
            if unit.linked_changes:
                self.on_linked(unit.linked_changes)
        self._head = claim.next_due
        return claim

    async def _peek(self, connection: Statements, request: ClaimRequest) -> _Claimed | None:
        """Return the claim if nothing is due, or the node is not there; None if a transaction is needed."""
        rows = await connection.query("agenda_heads_of_node", request.node)
        claim = _build_idle_claim(rows, request.now)
        if not claim.more:
            return claim, None
        ((_, _, wake_at),) = rows
        is_separate = self._dialect.has_concurrent_writers and request.is_wakeup_due(wake_at)
        return (_WAKEUP_DUE, None) if is_separate else None

    async def _claim(self, connection: Statements, request: ClaimRequest, *, check_ledger: bool) -> _Claimed:
        """Return the claim and its unit of work. A retried transaction builds a new one; only the last was written."""
        start_rows = await connection.query("begin_claim", request.node)
        if not start_rows:
            return Claim(), None
        (start,) = map(_ClaimStart._make, start_rows)
        if request.is_wakeup_due(start.wake_at):
            if self._dialect.has_concurrent_writers:
                return _WAKEUP_DUE, None
            await _wake_lanes(connection, request.now)
        now = to_microseconds(request.now)
        if request.queues is None:
            self._claim_order.has_backlog = start.ready is not None
            rows = await self._claim_order.read_slice(connection, now, request.room)
        else:
            size = min(CLAIM_SLICE, max(1, request.room))
            rows = order_queued(await connection.query("queued_slice", now, request.queues, size))
        claimed: list[Claimed] = []
        decided, unit = 0, None
        if rows:
            decided, unit = await self._decide(connection, rows, request, start, claimed, check_ledger=check_ledger)
            await unit.flush()
        if decided and request.queues is None:
            self._claim_order.last_owner = entry_owner(rows[decided - 1])
        if request.queues is None:
            (heads,) = await connection.query("agenda_heads")
        else:
            (heads,) = await connection.query("route_queues_head", request.queues)
        return build_claim(claimed, decided, request.now, earliest_due(*heads)), unit

    async def _load(
        self, connection: Statements, rows: list[Row], start: _ClaimStart, request: ClaimRequest
    ) -> LoadedFacts:
        """Load the tasks of the rows, and the entries of tasks that have several; the others have that of their row."""
        loaded = LoadedFacts(connection, self._task_cache, dict(map(entry_task_version, rows)))
        await loaded.read_tasks()
        several = [number for number, entry_count in loaded.entry_counts.items() if entry_count > 1]
        if cached := [number for number in map(entry_task, rows) if number not in loaded.entry_counts]:
            several += [number for (number,) in await connection.query("tasks_with_several_entries", cached)]
        await loaded.read_entries(several)
        loaded.lane_state.now = request.now
        lanes = [lane for lane in map(entry_lane, rows) if lane is not None and not is_route(lane)]
        await loaded.read_lane_state(restricted=start.restricted, lanes=lanes)
        return loaded

    async def _decide(
        self,
        connection: Statements,
        rows: list[Row],
        request: ClaimRequest,
        start: _ClaimStart,
        claimed: list[Claimed],
        *,
        check_ledger: bool,
    ) -> tuple[int, UnitOfWork]:
        """Decide the rows in order until there is no room left or the time limit is reached.

        Appends to `claimed`; returns how many rows were decided.
        """
        loaded = await self._load(connection, rows, start, request)
        unit = UnitOfWork(connection, loaded)
        deadline = thread_time() + self._dialect.max_decide_seconds
        # With runs that the ledger may have already, each entry is decided by its own facts.
        classes = None if check_ledger else _classes_of(request.decide, start.token, loaded.lane_state)
        decided = 0
        starts: list[tuple[CachedTask, Start]] = []
        """Ordinary starts that the unit of work does not have yet."""
        for row in rows:
            if len(claimed) >= request.room:
                break
            if decided % _CLOCK_CHECK_INTERVAL == 0 and thread_time() > deadline:
                self._claim_order.adapt_slice_size(decided, len(rows))
                break
            number = entry_task(row)
            known = loaded.tasks[number]
            ordinary = None if classes is None or number in loaded.entries else classes.decide(row, known)
            if ordinary is not None:
                starts.append((known, ordinary))
                claimed.append(new_tuple(Claimed, (known.task, ordinary.run)))
                decided += 1
                continue
            unit.add_starts(starts)
            starts = []
            decide = partial(_decide_entry, request.decide, start.token)
            claimed += await _decide_singly(unit, loaded, row, decide, check_ledger=check_ledger)
            decided += 1
        else:
            self._claim_order.adapt_slice_size(decided, decided)
        unit.add_starts(starts)
        return decided, unit


async def _decide_singly(
    unit: UnitOfWork, loaded: LoadedFacts, row: Row, decide: Callable[[Entry, Facts], Change], *, check_ledger: bool
) -> list[Claimed]:
    """Decide one row by all facts of its task, add the change, and return the runs that it starts."""
    number, slot = entry_key(row)
    known = loaded.tasks[number]
    entry = decode_entry(row, known.task.id)
    entries = loaded.entries.get(number) or (entry,)
    facts = loaded.build_facts(known, entries)
    if check_ledger:
        change = await _decide_deduplicated(unit, number, partial(decide, entry), facts)
    else:
        change = decide(entry, facts)
        if facts.live and _has_duplicate_run(change, facts):
            raise DuplicateRunError
    if slot not in change.dropped:
        check_entry_moved(entry, change)
    unit.add_change(known, entries, change)
    task = change.task or known.task
    return [new_tuple(Claimed, (task, run)) for run in change.new_runs if run.state in LIVE_STATES]


def _classes_of(decide: FireDecision, token: int, lane_state: LaneState) -> StartClasses | None:
    if not isinstance(decide, ClaimDecision):
        return None
    return StartClasses(decide, token, lane_state.is_owner_unrestricted)


async def _wake_lanes(connection: Statements, now: datetime) -> None:
    """Unpark entries of the lanes whose wake-up is due."""
    lanes = [name for (name,) in await connection.query("waking_lanes", to_microseconds(now))]
    lane_state = LaneState(connection)
    lane_state.now = now
    await lane_state.lock_lanes(lanes)
    await wake_lanes(connection, lane_state, lanes, now)
    await lane_state.write_turns()


async def _decide_deduplicated(
    unit: UnitOfWork, number: int, decide: Callable[[Facts], Change], facts: Facts
) -> Change:
    """Decide again if the ledger has some of the new runs, telling the decision which; never write these runs again."""
    change = decide(facts)
    if existing := await unit.find_existing_runs(number, change):
        change = decide(facts._replace(existing_run_ids=existing))
    return await unit.deduplicate_runs(number, change)


def _has_duplicate_run(change: Change, facts: Facts) -> bool:
    """Whether a new run has the id of a live one. The change may end that run, so the ledger alone would not show it."""
    live_ids = {run.id for run in facts.live}
    return any(run.id in live_ids for run in change.new_runs)


def _decide_entry(decide: FireDecision, token: int, entry: Entry, facts: Facts) -> Change:
    return decide(facts, entry, token)


def _build_idle_claim(rows: list[Row], now: datetime) -> Claim:
    """Return an empty claim by the heads of the agenda; no rows: the node is not there."""
    if not rows:
        return Claim()
    (heads,) = rows
    head = earliest_due(*heads)
    return Claim((), 0, head is not None and head <= now, head)


def build_claim(claimed: list[Claimed], decided: int, now: datetime, head: datetime | None) -> Claim:
    if not decided and head is not None and head <= now:
        # Other nodes hold the locks of everything that is due.
        return Claim((), 0, more=False, next_due=now + _LOCKED_RETRY_DELAY)
    return Claim(tuple(claimed), decided, head is not None and head <= now, head)
