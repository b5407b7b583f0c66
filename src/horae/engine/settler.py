"""Settler: group commit of settlements, fair between owners; batches grow with the load; their delays are reported."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from ..clock import Clock
from ..errors import StoreDamaged, StoreError, StoreFull, StoreUnavailable
from ..lifecycle.batch import SettlementDecision
from ..lifecycle.fast_path import ordinary_success
from ..lifecycle.settle import settle
from ..model.change import Change, Facts, Success
from ..model.entry import Entry, EntryState
from ..model.limits import ERROR_CHARACTERS, shorten
from ..model.outcome import Failed, Settlement
from ..model.run import Run
from ..model.task import Task, TaskStatus
from ..ports.node_records import SETTLEMENT_DELAY, WINDOW, DelayWindow
from ..ports.records import Record, Records
from ..ports.store import Agenda
from ..store_retry import StoreRetry
from .alarm import WakeTimer
from .keeper import Lease


class QueuedSettlement(NamedTuple):
    owner: str
    settlement: Settlement


class FairQueue:
    """First in, first out within an owner; round-robin between owners, so that a burst of one does not delay another."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[QueuedSettlement]] = {}
        self._owners: deque[str] = deque()
        """Owners with queued settlements, each once, in round-robin order."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[QueuedSettlement]:
        return chain.from_iterable(self._queues.values())

    def add(self, queued: QueuedSettlement) -> None:
        queue = self._queues.get(queued.owner)
        if queue is None:
            queue = self._queues[queued.owner] = deque()
            self._owners.append(queued.owner)
        queue.append(queued)
        self._size += 1

    def take(self, most: int) -> deque[QueuedSettlement]:
        """Remove and return up to `most` settlements."""
        size = min(most, self._size)
        self._size -= size
        taken: deque[QueuedSettlement] = deque()
        while len(taken) < size:
            owner = self._owners.popleft()
            queue = self._queues[owner]
            # With a single owner no round-robin is needed.
            share = 1 if self._owners else min(size - len(taken), len(queue))
            taken.extend([queue.popleft() for _ in range(share)])
            if queue:
                self._owners.append(owner)
            else:
                del self._queues[owner]
        return taken

    def return_to_front(self, taken: Iterable[QueuedSettlement]) -> None:
        """Return settlements that could not be committed, in the order of `take`, to the front of their owners' queues."""
        for queued in reversed(list(taken)):
            if queued.owner not in self._queues:
                self._queues[queued.owner] = deque()
                self._owners.appendleft(queued.owner)
            self._queues[queued.owner].appendleft(queued)
            self._size += 1


MAX_BATCH: Final = 256
MAX_BACKOFF: Final = 0.5
TRANSIENT_ERRORS: Final = (StoreUnavailable, StoreFull, StoreDamaged)
"""Errors after which the same write may succeed later. Any other store error concerns the data and would recur."""
LOG: Final = logging.getLogger("horae")


class Settler:
    """Two workers: the second works only while a full batch is ready. So a batch is prepared while another is being
    written, and under low load all ready settlements still go into one batch."""

    def __init__(self, store: Agenda, alarm: WakeTimer, clock: Clock) -> None:
        self._store = store
        self._alarm = alarm
        self._clock = clock
        self._ready = FairQueue()
        self._wake = asyncio.Event()
        self._retry = StoreRetry("settling of ended runs", clock, max_backoff=MAX_BACKOFF)
        self._in_flight: list[deque[QueuedSettlement]] = []
        """Batches in flight, one per write."""
        self.on_settled: Callable[[Collection[str]], None] = lambda _tasks: None
        """Callback after each commit, with the ids of the tasks that have an ended run."""
        self.on_linked: Callable[[], None] = lambda: None
        self.on_queued: Callable[[], None] = lambda: None
        """Callback: a settlement may have put an entry into the queue of a route with labels."""
        """Callback after a commit with an ended run of a task that others run after."""
        self.on_recorded: Callable[[Iterable[tuple[str, datetime]], datetime], None] = lambda _ended, _at: None
        """Callback after each commit, with owner and end of each recorded run, and the time of the commit."""

    @property
    def pending(self) -> int:
        """Number of ended runs that are not recorded yet."""
        return len(self._ready) + sum(map(len, self._in_flight))

    def add(self, settlement: Settlement, owner: str = "") -> None:
        """Queue a settlement; batches are filled round-robin by `owner`."""
        self._ready.add(QueuedSettlement(owner, settlement))
        self._wake.set()

    def has_settlement(self, run_id: str) -> bool:
        """Return whether the settlement of a run is queued or in flight."""
        return any(each.settlement.run_id == run_id for each in chain(*self._in_flight, self._ready))

    async def step(self) -> int:
        """Commit one batch; return its size. Uncommitted settlements return to the front: settling twice is harmless."""
        queue = self._ready.take(MAX_BATCH)
        size = len(queue)
        self._in_flight.append(queue)
        try:
            await self._record(queue, tuple([each.settlement for each in queue]))
        except TRANSIENT_ERRORS:
            raise
        except Exception:
            # One settlement that cannot be recorded must not block the others.
            LOG.exception("%d runs that ended could not be recorded together; one by one now", size)
            await self._record_one_by_one(queue)
        finally:
            self._in_flight = [each for each in self._in_flight if each is not queue]
            self._ready.return_to_front(queue)
        return size

    async def _record(self, queue: deque[QueuedSettlement], batch: tuple[Settlement, ...]) -> None:
        """Commit `batch`, the first settlements of `queue`, and remove them from it."""
        decisions = _DecisionLog()
        try:
            stale = await self._store.settle(batch, decisions)
        finally:
            # After an error too: the write may be committed although its answer was lost.
            decisions.notify(self._alarm)
        recorded = [(queue.popleft().owner, settlement) for settlement in batch]
        self.on_recorded(
            [(owner, settlement.ended) for owner, settlement in recorded if settlement.run_id not in stale],
            self._clock.now(),
        )
        self.on_settled(decisions.tasks)
        if decisions.has_labels or decisions.has_links:
            self.on_queued()
        if decisions.has_links:
            self.on_linked()

    async def _record_one_by_one(self, queue: deque[QueuedSettlement]) -> None:
        while queue:
            try:
                await self._record(queue, (queue[0].settlement,))
            except TRANSIENT_ERRORS:
                raise
            except Exception as error:
                LOG.exception(
                    "the end of the run %s cannot be recorded as it is: it has failed instead",
                    queue[0].settlement.run_id,
                )
                await self._record_failure(queue, error)

    async def _record_failure(self, queue: deque[QueuedSettlement], error: Exception) -> None:
        error_text = shorten(f"its end could not be recorded: {type(error).__name__}: {error}", ERROR_CHARACTERS)
        encodable = error_text.encode(errors="backslashreplace").decode()
        try:
            await self._record(queue, (queue[0].settlement._replace(outcome=Failed(encodable)),))
        except TRANSIENT_ERRORS:
            raise
        except Exception:
            LOG.exception("the run %s cannot be ended at all, and is left as it is", queue[0].settlement.run_id)
            queue.popleft()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as workers:
            workers.create_task(self._run_worker(1))
            workers.create_task(self._run_worker(MAX_BATCH))

    async def _run_worker(self, least: int) -> None:
        """Commit batches whenever at least `least` settlements are ready."""
        while True:
            try:
                while len(self._ready) >= least:
                    await self.step()
                    self._retry.succeeded()
            except StoreError as error:
                await self._retry.wait(error)
            else:
                self._wake.clear()
                await self._wake.wait()

    async def flush(self) -> None:
        """Commit all queued settlements; raises a store error."""
        while self._ready:
            await self.step()


class _DecisionLog(SettlementDecision):
    """Collects the due instants and freed lanes of a batch's decisions, so that the alarm needs no query of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._first_due: datetime | None = None
        self._has_freed_slots = False
        self.has_links = False
        self.has_labels = False
        self.tasks: set[str] = set()

    def success(
        self,
        task: Task,
        status: TaskStatus,
        entries: tuple[Entry, ...],
        live: tuple[Run, ...],
        run: Run,
        report: Settlement,
    ) -> Success | None:
        success = ordinary_success(task, status, entries, live, run, report)
        if success is not None:
            # An ordinary success puts no entry, is in no lane and has no successors.
            if task.policies.where:
                self.has_labels = True
            self.tasks.add(run.task_id)
        return success

    def __call__(self, facts: Facts, run: Run, report: Settlement) -> Change:
        change = settle(facts, run, report)
        for entry in change.put:
            if entry.state is EntryState.TIMED and (self._first_due is None or entry.due < self._first_due):
                self._first_due = entry.due
        task = facts.task
        if run.lanes:
            self._has_freed_slots = True
        if task.successors:
            self.has_links = True
        if task.policies.where:
            self.has_labels = True
        self.tasks.add(run.task_id)
        return change

    def notify(self, alarm: WakeTimer) -> None:
        if self._has_freed_slots or self.has_links:
            # A freed lane slot unparks an entry, a link starts a task, and only the store knows which.
            alarm.notify()
        alarm.expect(self._first_due)


FIRST_WRITE_SECONDS: Final = 1.0
"""Delay from the first settlement to the write that reports it."""
WRITE_INTERVAL_SECONDS: Final = 10.0
"""Interval between two writes; a node that settles nothing writes nothing."""


class DelayReporter:
    """Periodic report of this node's settlement delays to the store, for the overview."""

    def __init__(self, store: Records, lease: Lease, clock: Clock) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._window = DelayWindow()
        self._has_news = asyncio.Event()
        self._retry = StoreRetry("report of settlement delays", clock)

    def add(self, ended: Iterable[tuple[str, datetime]], recorded: datetime) -> None:
        """Add owner and end of each run whose end was committed at `recorded`."""
        self._window.add(ended, recorded)
        self._has_news.set()

    async def run(self) -> None:
        while True:
            await self._has_news.wait()
            await self._clock.pause(FIRST_WRITE_SECONDS)
            try:
                await self.write()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            self._retry.succeeded()
            await self._clock.pause(WRITE_INTERVAL_SECONDS - FIRST_WRITE_SECONDS)

    async def write(self) -> None:
        """Write the report, unless nothing was settled since the last write."""
        if not self._has_news.is_set():
            return
        self._has_news.clear()
        is_written = False
        try:
            is_written = await self._put_record()
        finally:
            if not is_written:
                self._has_news.set()

    async def _put_record(self) -> bool:
        body, node = json.dumps(self._window.as_json()), self._lease.node
        known = await self._store.get_record(SETTLEMENT_DELAY, node)
        record = Record(SETTLEMENT_DELAY, node, "", body, expires=self._clock.now() + WINDOW)
        return await self._store.put_record(record, replacing=None if known is None else known.version)
