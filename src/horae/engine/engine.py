"""Engine of one node: wires the actors to one store, starts and stops them in order."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from ..clock import Clock
from ..errors import StoreError
from ..model.gate import GateLimit
from ..model.ids import ENTROPY_BYTES, make_id
from ..model.lanes.idle import YieldRequest
from ..model.lanes.node_labels import LabelPairs
from ..model.messages import StreamQuota
from ..model.reason import Reason
from ..model.task import Task
from ..ports.full_store import FullStore
from ..ports.previous import load_previous
from ..ports.store import CancelRequest, Node
from ..ports.target import Target
from ..store_retry import restart_on_error
from .admission import Admission
from .alarm import WakeTimer
from .clock_follower import ClockFollower
from .dispatcher import Dispatcher
from .gate_call import load_gate_state
from .janitor import Janitor
from .journal_writer import JournalWriter
from .keeper import KeeperCallbacks, Lease, LeaseKeeper, LeaseThread
from .process_identity import is_gone, own_home
from .releaser import LostClaims, Releaser
from .runner import Permit, Runner, permit_all
from .settings import EngineSettings
from .settler import DelayReporter, Settler
from .store_clock import CorrectedClock

LOG: Final = logging.getLogger("horae")
CLEANUP_SECONDS: Final = 4.0
"""Seconds for which cancelled runs may clean up before they are released anyway."""


class Engine:
    """Runs due entries between `start` and `stop`. Both are idempotent, and a stopped engine can be started again."""

    def __init__(  # noqa: PLR0913 - the parts that a composition root may choose
        self,
        store: FullStore,
        targets: Mapping[str, Target],
        clock: Clock,
        settings: EngineSettings,
        *,
        version: str,
        home: str | None = None,
        is_gone: Callable[[str], bool] = is_gone,
        routes: Callable[[], frozenset[str] | None] = lambda: None,
        labels: LabelPairs | None = None,
        entropy: Callable[[int], bytes] = os.urandom,
        permit: Permit = permit_all,
        stream_quota: Callable[[Task], Awaitable[StreamQuota]] | None = None,
        gate_limit: Callable[[Task], Awaitable[GateLimit]] | None = None,
    ) -> None:
        self._store = store
        clock = self._clock = CorrectedClock(clock)
        self._settings = settings
        self._version = version
        self._home = own_home() if home is None else home
        self._is_gone = is_gone
        self._entropy = entropy
        self._labels = labels or ()
        terms = settings.terms
        ceiling = settings.poll_interval or terms.poll_ceiling
        self.wake_timer = WakeTimer(clock, ceiling, precise=settings.precise, fine=settings.fine_timer)
        self.lease = Lease(clock, terms)
        self.settler = Settler(store, self.wake_timer, clock)
        self.journal_writer = JournalWriter(store, clock, settings.run_log_bytes)
        self.runner = Runner(store, targets, self.settler, self.journal_writer, clock, settings.capacity)
        self.runner.permit = permit
        if stream_quota is not None:
            self.runner.load_stream_quota = stream_quota
        if gate_limit is not None:
            self.runner.load_gate_limit = gate_limit
        self.runner.load_previous = partial(load_previous, store)
        self.runner.load_gate_state = partial(load_gate_state, store)
        self.releaser = Releaser(store, self.wake_timer, clock)
        lost_claims = LostClaims(store, self.lease, self.runner, self.settler, self.releaser)
        self.dispatcher = Dispatcher(
            store,
            self.runner,
            self.wake_timer,
            self.lease,
            clock,
            terms,
            lost_claims=lost_claims,
            routes=routes,
            labels=None if labels is None else frozenset(labels),
            claim_limit=settings.claim_limit,
        )
        self.clock_follower = ClockFollower(store, self.wake_timer, self.lease, clock, platform.node)
        self.delay_reporter = DelayReporter(store, self.lease, clock)
        self.janitor = Janitor(store, store, clock, settings)
        self._admission = Admission(store, clock, settings, is_gone)
        self.keeper: LeaseKeeper | None = None
        self.on_joined: Callable[[], Awaitable[None]] = _do_nothing
        """Callback: awaited when this node holds its lease, before its first claim."""
        self.drained = asyncio.Event()
        """Set when the node is draining and has nothing left to execute, settle or release."""
        self.runner.on_room = self.wake_timer.wake
        self.runner.release = self.releaser.add
        self.settler.on_settled = self._after_settlement
        if settings.report_delays:
            self.settler.on_recorded = self.delay_reporter.add
        self.dispatcher.on_cancellation = self._request_cancellations
        self.dispatcher.on_yield_requests = self._forward_yield_requests
        self.dispatcher.on_claimed = self._after_claim
        self.on_settled: Callable[[Collection[str]], None] = lambda _tasks: None
        self.on_linked: Callable[[], None] = lambda: None
        """Callback: a settlement may have started tasks that other nodes can run, or a claim asked a run on one to yield."""
        self.settler.on_linked = self._after_linked_settlement
        self.settler.on_queued = self.dispatcher.request_route_check
        self._actors: dict[str, asyncio.Task[None]] = {}
        self._thread: LeaseThread | None = None
        self._start_stop_lock = asyncio.Lock()

    @property
    def node(self) -> str:
        return self.lease.node

    @property
    def home(self) -> str:
        return self._home

    @property
    def clock_offset(self) -> timedelta:
        """Offset that is added to this machine's clock to match the store's."""
        return self._clock.offset

    @property
    def is_draining(self) -> bool:
        """Whether this node was ordered to claim nothing more."""
        return self.dispatcher.is_draining

    async def start(self) -> None:
        """Join the store and start all actors. Raises a refusal, with nothing claimed, where admission fails."""
        async with self._start_stop_lock:
            if self._actors:
                return
            self.runner.is_stopping = False
            self.dispatcher.reopen()
            self.drained.clear()
            self.journal_writer.start()
            keeper = await self._join_and_check()
            await self.on_joined()
            actors = {
                "dispatcher": self.dispatcher.run,
                "settler": self.settler.run,
                "releaser": self.releaser.run,
                "janitor": self.janitor.run,
                "delay reporter": self.delay_reporter.run,
            }
            if self._settings.follow_clock:
                actors["clock follower"] = self.clock_follower.run
            if self._thread is None:
                actors["keeper"] = keeper.run
            self._actors = {
                name: asyncio.ensure_future(restart_on_error(name, run, self._clock)) for name, run in actors.items()
            }

    def notify(self) -> None:
        """Handle a wake-up notification: an entry was added, a cancellation requested, or an entry parked by another node."""
        self.dispatcher.request_route_check()
        self.wake_timer.notify()
        self._request_cancellations()

    def _request_cancellations(self) -> None:
        """Renew the lease now: the answer contains cancel requests for runs of this node."""
        if self.keeper is not None:
            self._call_keeper(self.keeper.request_renewal)

    def _call_keeper(self, action: Callable[[], None]) -> None:
        if self._thread is None:
            action()
        else:
            self._thread.call(action)

    async def stop(self) -> None:
        """Stop claiming, let active runs end within the grace period, release the rest, and leave the store."""
        async with self._start_stop_lock:
            if not self._actors:
                return
            await self._stop_claiming()
            await self._end_runs()
            await self._end_actors("settler", "releaser", "janitor", "clock follower", "delay reporter")
            await self._within_lease(self._flush_all)
            # The keeper ends last, so that the lease covers all writes; and before `leave`, which it would take for an
            # expired lease and answer by joining again.
            await self._end_actors("keeper")
            await self._stop_keeper_thread()
            await self._within_lease(lambda: self._store.leave(self.lease.node))
            self._actors = {}

    def kill(self) -> None:
        """Stop like a process that dies: nothing is settled or released. For tests and simulation."""
        for actor in self._actors.values():
            actor.cancel()
        self._actors = {}
        self.runner.discard_all()
        self.keeper = None
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    # --- stopping, step by step --------------------------------------------------------------------------------------

    async def _stop_claiming(self) -> None:
        """Wait for a claim in flight: its runs would otherwise stay claimed until the lease expires."""
        self.dispatcher.close()
        self.runner.is_stopping = True
        timeout = max(self._settings.grace, self._settings.terms.renewal)
        await asyncio.wait([self._actors["dispatcher"]], timeout=timeout.total_seconds())
        await self._end_actors("dispatcher")

    async def _end_runs(self) -> None:
        try:
            async with asyncio.timeout(self._settings.grace.total_seconds()):
                await self.runner.wait_idle()
        except TimeoutError:
            self.runner.abandon(Reason.RELEASED)
        try:
            async with asyncio.timeout(CLEANUP_SECONDS):
                await self.runner.wait_abandoned()
        except TimeoutError:
            self.runner.release_abandoned()

    async def _end_actors(self, *names: str) -> None:
        ending = [self._actors[name] for name in names if name in self._actors]
        for actor in ending:
            actor.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _flush_all(self) -> None:
        await self.journal_writer.stop()
        await self.settler.flush()
        await self.releaser.flush()
        await self.delay_reporter.write()

    async def _within_lease(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` within the lease duration. If the store fails, the lease expires and other nodes recover the rest."""
        try:
            async with asyncio.timeout(self._settings.terms.lease.total_seconds()):
                await work()
        except (StoreError, TimeoutError) as error:
            LOG.warning("stopping before all writes reached the store: %r", error)
        except Exception:
            LOG.exception("stopping before all writes reached the store")

    # --- the keeper, on this loop or in a thread ------------------------------------------------------------------

    async def _join_and_check(self) -> LeaseKeeper:
        has_joined = False
        try:
            keeper = await self._join()
            has_joined = True
            await self._admission.check(self.lease.node)
        except BaseException:
            await self._stop_keeper_thread()
            if has_joined:
                await self._within_lease(lambda: self._store.leave(self.lease.node))
            raise
        return keeper

    async def _join(self) -> LeaseKeeper:
        loop = asyncio.get_running_loop()
        if self._settings.lease_thread:
            self._thread = LeaseThread("horae-keeper")
            self.keeper = await asyncio.wrap_future(self._thread.submit(self._start_keeper(self._thread, loop)))
        else:
            self.keeper = self._build_keeper(_call_directly)
            await self.keeper.join()
            await self.keeper.step()
        return self.keeper

    async def _start_keeper(self, thread: LeaseThread, loop: asyncio.AbstractEventLoop) -> LeaseKeeper:
        """Join, renew once and start the keeper loop; runs on the event loop of the keeper thread."""
        keeper = self._build_keeper(loop.call_soon_threadsafe)
        await keeper.join()
        await keeper.step()

        async def run() -> None:
            try:
                await keeper.run()
            except RuntimeError:
                # The node's event loop is closed, so there is no need for the lease any more.
                if not loop.is_closed():
                    raise

        thread.run_in_background(restart_on_error("keeper", run, self._clock))
        return keeper

    async def _stop_keeper_thread(self) -> None:
        self.keeper = None
        if self._thread is not None:
            await asyncio.to_thread(self._thread.stop)
            self._thread = None

    def _build_keeper(self, call: Callable[..., Any]) -> LeaseKeeper:
        signals = KeeperCallbacks(
            on_cancel_requests=lambda requests: call(self._on_cancel_requests, requests),
            on_lost=lambda: call(self._on_lease_lost),
            on_head_seen=lambda head: call(self._on_head_seen, head),
            on_peers_changed=lambda others: call(self._on_peers_changed, others),
            on_recovered=lambda: call(self.wake_timer.notify),
            on_clock_set_back=lambda by: call(self.clock_follower.report_step, by),
            on_draining=lambda draining: call(self._on_drain_order, draining),
            on_yield_requests=lambda requests: call(self._on_yield_requests, requests),
        )
        return LeaseKeeper(
            self._store,
            self.lease,
            self._clock,
            self._settings.terms,
            signals,
            new_node=self._new_node,
            is_gone=self._is_gone,
            load=lambda: self.runner.active_count,
        )

    def _new_node(self) -> Node:
        now = self._clock.now()
        name = make_id("nod", now, self._entropy(ENTROPY_BYTES))
        host, capacity = platform.node(), self._settings.capacity
        offset, labels = self._clock.offset, self._labels
        return Node(name, self._home, self._version, now, now, 0, host, 0, capacity, offset, labels=labels)

    def _on_head_seen(self, head: datetime | None) -> None:
        """Take the head of the agenda from a renewal, and wake the dispatcher for a due route check, which the head does not show."""
        self.wake_timer.observe_head(head)
        if self.dispatcher.is_route_check_due:
            self.wake_timer.notify()
        self._check_drained()

    def _on_drain_order(self, draining: bool) -> None:  # noqa: FBT001 - a signal with one value
        """Start or end draining: the dispatcher stops claiming at once, active runs continue to their end."""
        LOG.warning("this node claims %s", "nothing more: an operator drains it" if draining else "again")
        self.drained.clear()
        self.dispatcher.set_draining(draining)

    def _after_claim(self) -> None:
        if self.lease.is_renewed_slowly and self.runner.active_count and self.keeper is not None:
            self.lease.is_renewed_slowly = False
            self._call_keeper(self.keeper.hold_runs)
        self._check_drained()

    def _check_drained(self) -> None:
        """Set `drained` if nothing is left. Called after each claim, settlement and renewal, one of which comes last."""
        is_pending = self.dispatcher.has_unknown_claims or self.settler.pending or self.releaser.pending
        if self.is_draining and self.runner.is_idle and not is_pending:
            self.drained.set()

    def _on_peers_changed(self, others: bool) -> None:  # noqa: FBT001 - a signal with one value
        self.dispatcher.has_peers = others
        if not others:
            # The node that left may have parked an entry, and its notification may be lost.
            self.dispatcher.request_route_check()
            self.wake_timer.notify()

    def _on_cancel_requests(self, requests: tuple[CancelRequest, ...]) -> None:
        for request in requests:
            self.runner.request_end(request.run_id, request.reason)

    def _on_yield_requests(self, requests: tuple[YieldRequest, ...]) -> None:
        for request in requests:
            self.runner.request_yield(request.run_id, request.since, request.reason)

    def _forward_yield_requests(self) -> None:
        """Have this node and the others renew their leases: a claim asked an idle run to yield, on whatever node it is."""
        self._request_cancellations()
        self.on_linked()

    def _after_settlement(self, tasks: Collection[str]) -> None:
        self.runner.notify_room()
        self.on_settled(tasks)
        self._check_drained()

    def _after_linked_settlement(self) -> None:
        self.on_linked()

    def _on_lease_lost(self) -> None:
        """Stop all runs after a lost lease, before another node may start them."""
        self.runner.abandon(Reason.LEASE_LOST)


def _call_directly(action: Callable[..., Any], *arguments: object) -> None:
    action(*arguments)


async def _do_nothing() -> None:
    return None
