"""Lease keeper, on a thread of its own: renews the node's lease, reports its loss, and recovers the runs of dead nodes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.recover import recover
from ..model.lanes.idle import YieldRequest
from ..ports.store import Agenda, CancelRequest, LeaseRenewal, Node, Terms
from ..store_retry import StoreRetry
from .store_clock import CorrectedClock


class Lease:
    """Local view of the node's lease, on the monotonic clock and with a safety margin before its expiry in the store.

    Written by the keeper, read by all other actors. Each write is a single assignment, so any thread may read.
    """

    def __init__(self, clock: Clock, terms: Terms) -> None:
        self._clock = clock
        self._self_stop = terms.self_stop.total_seconds()
        self._renewed_at: float | None = None
        self.node = ""
        self.is_renewed_slowly = False
        """Whether the next renewal is more than T/4 after the last one: the keeper must know as soon as the node holds runs."""

    @property
    def is_held(self) -> bool:
        """Whether the lease holds: until T − T/4 after the last renewal was sent, before another node may take over."""
        return self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """Seconds until this node must have stopped its runs."""
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._self_stop - self._clock.steady()

    def mark_renewed(self, sent_at: float) -> None:
        """Record a successful renewal that was sent at monotonic time `sent_at`."""
        self._renewed_at = sent_at

    def mark_lost(self) -> None:
        self._renewed_at = None


MAX_BATCH: Final = 256
MIN_CLOCK_STEP: Final = timedelta(seconds=1)
"""A wall clock that went back by less is not replanned for."""
RETRY_SECONDS: Final = 0.5
"""Delay of a retry after a failed renewal; shorter where the lease is short."""
MIN_RENEWAL_SECONDS: Final = 0.05
"""Minimum distance of two renewals on request, since each is a write."""


@dataclass(frozen=True, slots=True)
class KeeperCallbacks:
    """Callbacks of the keeper to the engine; called on the keeper's thread."""

    on_cancel_requests: Callable[[tuple[CancelRequest, ...]], None]
    on_lost: Callable[[], None]
    on_head_seen: Callable[[datetime | None], None]
    on_recovered: Callable[[], None]
    on_peers_changed: Callable[[bool], None] = lambda _others: None
    """Whether any other node holds a lease; called when that changes."""
    on_clock_set_back: Callable[[timedelta], None] = lambda _by: None
    """The wall clock went back by this much since the last renewal."""
    on_draining: Callable[[bool], None] = lambda _draining: None
    """Whether this node is ordered to claim nothing more; called when that changes."""
    on_yield_requests: Callable[[tuple[YieldRequest, ...]], None] = lambda _requests: None


class LeaseKeeper:
    """One per node. A node is dead when its renewal counter stands still for a lease on this node's monotonic clock; no
    lease expires by a wall clock."""

    def __init__(  # noqa: PLR0913 - its tools, each with one purpose
        self,
        store: Agenda,
        lease: Lease,
        clock: CorrectedClock,
        terms: Terms,
        signals: KeeperCallbacks,
        *,
        new_node: Callable[[], Node],
        is_gone: Callable[[str], bool],
        load: Callable[[], int] = lambda: 0,
    ) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._terms = terms
        self._signals = signals
        self._new_node = new_node
        self._is_gone = is_gone
        self._load = load
        self._retry = StoreRetry("lease renewal", clock)
        self._draining = False
        self._peers: dict[str, tuple[int, float]] = {}
        self._has_peers = False
        self._last_clocks: tuple[datetime, float] | None = None
        self._wake = asyncio.Event()
        self._renewal_requested = False
        self._last_renewal = float("-inf")
        self._next_renewal = 0.0
        self._not_before = float("-inf")
        self._retry_seconds = min(RETRY_SECONDS, terms.renewal.total_seconds() / 4)

    async def join(self) -> None:
        """Join under a new node id; runs of a former id are recovered like those of any dead node. Draining is kept."""
        node = self._new_node()._replace(draining=self._draining)
        sent_at = self._clock.steady()
        await self._store.join(node)
        self._lease.node = node.id
        self._lease.mark_renewed(sent_at)
        self._next_renewal = sent_at

    def request_renewal(self) -> None:
        """Renew soon, because a run may have been cancelled or asked to yield."""
        self._renewal_requested = True
        self._wake.set()

    def hold_runs(self) -> None:
        """Renew every T/4 from now on, because the node has claimed runs."""
        self._next_renewal = min(self._next_renewal, self._last_renewal + self._terms.renewal.total_seconds())
        self._lease.is_renewed_slowly = False
        self._wake.set()

    async def step(self) -> None:
        """Renew if it is time, then recover nodes whose lease has expired."""
        if self._clock.steady() >= self._renewal_at:
            await self._renew()
        lease = self._terms.lease.total_seconds()
        for node, (renewals, since) in tuple(self._peers.items()):
            if self._clock.steady() >= since + lease:
                await self._recover(node, renewals)

    async def run(self) -> None:
        while True:
            try:
                # Not `wait_for`: before Python 3.12 it may swallow a cancellation, and the keeper would outlive its node.
                async with asyncio.timeout(self._step_timeout()):
                    await self.step()
            except (StoreError, TimeoutError) as error:
                # A late answer counts as none; what matters is whether the lease still holds.
                self._retry.failed(error)
                self._next_renewal = self._not_before = self._clock.steady() + self._retry_seconds
            if not self._lease.is_held:
                self._signals.on_lost()
            await self._sleep()

    @property
    def _renewal_at(self) -> float:
        return (
            min(self._next_renewal, self._last_renewal + MIN_RENEWAL_SECONDS)
            if self._renewal_requested
            else self._next_renewal
        )

    def _step_timeout(self) -> float:
        """Return the timeout of a step: until the lease is lost, and after that one renewal interval."""
        return self._lease.seconds_left if self._lease.is_held else self._terms.renewal.total_seconds()

    async def _renew(self) -> None:
        self._renewal_requested = False
        sent_at = self._last_renewal = self._clock.steady()
        at = self._clock.now()
        renewal = await self._store.renew_lease(self._lease.node, at, self._load(), self._clock.offset)
        self._retry.succeeded()
        if renewal.now is not None and self._clock.correct(at, renewal.now, self._clock.now()):
            # The clock was corrected, so actors that sleep until an instant must compute the wait again.
            self._signals.on_recovered()
        self._compare_clocks()
        self._schedule_renewal(sent_at, is_slow=not (self._load() or renewal.nodes))
        if not renewal.held:
            # Other nodes have recovered this one as dead, so none of its active runs belongs to it any more.
            self._lease.mark_lost()
            self._signals.on_lost()
            await self.join()
            return
        if not self._lease.is_held:
            self._signals.on_lost()
            # What kept this node from renewing may have affected the others too: their leases are measured anew.
            self._peers.clear()
        self._lease.mark_renewed(sent_at)
        self._apply_renewal(renewal)

    def _schedule_renewal(self, sent_at: float, *, is_slow: bool) -> None:
        interval = self._terms.solo_renewal if is_slow else self._terms.renewal
        self._next_renewal = sent_at + interval.total_seconds()
        self._lease.is_renewed_slowly = is_slow

    def _compare_clocks(self) -> None:
        """Detect a wall clock that was set back, by comparing it with the monotonic clock between two renewals."""
        wall, steady = self._clock.now(), self._clock.steady()
        if self._last_clocks is not None:
            passed = timedelta(seconds=steady - self._last_clocks[1])
            back = self._last_clocks[0] + passed - wall
            if back >= MIN_CLOCK_STEP:
                self._signals.on_clock_set_back(back)
        self._last_clocks = wall, steady

    def _apply_renewal(self, renewal: LeaseRenewal) -> None:
        if renewal.cancel_requests:
            self._signals.on_cancel_requests(renewal.cancel_requests)
        if renewal.yield_requests:
            self._signals.on_yield_requests(renewal.yield_requests)
        if renewal.draining is not self._draining:
            self._draining = renewal.draining
            self._signals.on_draining(self._draining)
        self._signals.on_head_seen(renewal.next_due)
        if bool(renewal.nodes) is not self._has_peers:
            self._has_peers = bool(renewal.nodes)
            self._signals.on_peers_changed(self._has_peers)
        steady = self._clock.steady()
        previous, self._peers = self._peers, {}
        for node in renewal.nodes:
            before = previous.get(node.id)
            if self._is_gone(node.home):
                self._peers[node.id] = (node.renewals, float("-inf"))
            elif before is None or before[0] != node.renewals:
                self._peers[node.id] = (node.renewals, steady - self._age(node))
            else:
                self._peers[node.id] = before

    def _age(self, node: Node) -> float:
        """Return the seconds since a node renewed, for a renewal that is seen for the first time.

        Capped at the renewal interval, whatever the wall clock says: a node that is cut off stops itself that much before
        its lease ends, so it is never recovered too early.
        """
        age = (self._clock.now() - node.renewed).total_seconds()
        return min(max(age, 0.0), self._terms.renewal.total_seconds())

    async def _recover(self, node: str, renewals: int) -> None:
        """Recover the runs of a dead node in batches; another node may do the same concurrently.

        A due renewal is not delayed: the remaining batches follow after it.
        """
        decide = partial(recover, now=self._clock.now())
        while await self._store.recover(node, renewals, decide, MAX_BATCH) == MAX_BATCH:
            self._signals.on_recovered()
            if self._clock.steady() >= self._next_renewal:
                return
        self._peers.pop(node, None)
        self._signals.on_recovered()

    async def _sleep(self) -> None:
        """Sleep until the next renewal, the expiry of another node's lease, or the loss of the own lease."""
        held = self._lease.is_held
        while (seconds := self._seconds_to_wake()) > 0 and self._lease.is_held is held:
            self._wake.clear()
            timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    def _seconds_to_wake(self) -> float:
        lease = self._terms.lease.total_seconds()
        wake = min([self._renewal_at, *(since + lease for _, since in self._peers.values())])
        seconds = max(wake, self._not_before) - self._clock.steady()
        return min(seconds, self._lease.seconds_left) if self._lease.is_held else seconds


_T = TypeVar("_T")


class LeaseThread:
    """Thread with an event loop of its own: the keeper must not wait for a function that blocks the main loop."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._jobs: list[asyncio.Task[None]] = []
        self._end_lock = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Run a coroutine on this thread's loop; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine until `stop`; callable only on this thread's loop."""
        self._jobs.append(self._loop.create_task(work))

    def call(self, action: Callable[[], None]) -> None:
        # A call while the thread ends is dropped.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)

    def stop(self) -> None:
        """Cancel the jobs and block until the thread has ended; idempotent."""
        with self._end_lock:
            if self._loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(self._cancel_jobs(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _cancel_jobs(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
