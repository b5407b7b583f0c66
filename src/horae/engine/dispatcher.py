"""Dispatcher: claims due entries in slices, hands the runs to the runner and sleeps until the next entry is due."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.batch import ClaimDecision
from ..lifecycle.fire import fire
from ..lifecycle.start import ClaimContext
from ..model.change import Change, Facts
from ..model.entry import Entry, EntryState
from ..model.lanes.route import ServedQueues, is_route
from ..ports.store import Agenda, Claim, Terms
from ..store_retry import StoreRetry
from .alarm import WakeTimer
from .keeper import Lease
from .releaser import LostClaims
from .runner import Runner
from .settler import TRANSIENT_ERRORS

MAX_BACKOFF: Final = 0.5
"""Longest back-off in seconds while the store fails, short so that due runs start soon after it recovers."""
SOLO_ROUTE_CHECK_SECONDS: Final = 300.0
"""Seconds between two checks for parked entries of this node's routes while no other node is live."""
MIN_ROUTE_CHECK_SECONDS: Final = 1.0
"""Minimum of that interval: a busy node must not check its routes with every claim, however long the lease is."""
DEFER_FOR: Final = timedelta(minutes=1)
LOG: Final = logging.getLogger("horae")


class Dispatcher:
    def __init__(  # noqa: PLR0913 - its tools, each with one purpose
        self,
        store: Agenda,
        runner: Runner,
        alarm: WakeTimer,
        lease: Lease,
        clock: Clock,
        terms: Terms,
        *,
        lost_claims: LostClaims,
        routes: Callable[[], frozenset[str] | None] = lambda: None,
        labels: frozenset[tuple[str, str]] | None = None,
        claim_limit: int | None = None,
    ) -> None:
        self._store = store
        self._runner = runner
        self._alarm = alarm
        self._lease = lease
        self._clock = clock
        self._ceiling = terms.poll_ceiling
        self._claim_limit = claim_limit
        self._lost_claims = lost_claims
        self._has_lost_claim = False
        self._closing = False
        self._last_slice = 0
        """Number of runs in the last slice, if there is more to claim; else 0."""
        self._is_serialized = False
        self._is_claiming = False
        self._defer_failures = False
        self._retry = StoreRetry("claiming", clock, max_backoff=MAX_BACKOFF)
        self._routes = routes
        self._checked_routes: frozenset[str] | None = None
        self._routes_checked_at = float("-inf")
        # The check happens at lease renewals, so interval + renewal stays within the poll ceiling.
        self._route_check_interval = max(MIN_ROUTE_CHECK_SECONDS, (terms.poll_ceiling - terms.renewal).total_seconds())
        self._route_check_requested = True
        self._labels = labels
        self._queues: frozenset[str] = frozenset()
        """Queues of routes with labels that this node serves, as of the last route check."""
        self._queues_due: datetime | None = None
        """Earliest due instant in these queues."""
        self.has_peers = False
        """Whether other nodes are live, which may park entries that they cannot run."""
        self.is_draining = False
        """Claim nothing until the drain is revoked: due entries are left to other nodes."""
        self.on_claimed: Callable[[], None] = lambda: None
        """Callback: a claim has returned."""
        self.on_cancellation: Callable[[], None] = lambda: None
        """Callback: a claim requested the cancellation of a run, possibly one of this node."""
        self.on_yield_requests: Callable[[], None] = lambda: None
        """Callback: a claim asked idle runs to yield, of this node or of others."""
        self.on_unroutable: Callable[[], None] = lambda: None
        """Callback: a due entry has no matching route on this node."""

    async def step(self, limit: int | None = None) -> Claim:
        """Claim one slice. The clock is read before the call to the store, so nothing is claimed early."""
        limit = self._runner.free_capacity if limit is None else limit
        if self._closing or not self._lease.is_held or (limit <= 0 and not self.is_draining):
            return Claim(more=limit <= 0)
        if self._has_lost_claim:
            await self._lost_claims.step()
            self._has_lost_claim = False
        if self.is_draining:
            return Claim()
        routes = self._routes()
        if self._has_requirements(routes) and (self._route_check_requested or self._is_check_due(routes)):
            await self._admit_routes(routes)
        claimant = ClaimContext(self._lease.node, self._clock.now(), self._ceiling, routes, self._labels)
        queued = Claim(next_due=self._queues_due)
        if self._queues_due is not None and self._queues_due <= claimant.now:
            queued = await self._claim(claimant, limit, self._queues)
            self._queues_due = queued.next_due
            self._execute(claimant, queued)
            limit -= len(queued.runs)
            if limit <= 0:
                return queued._replace(more=True)
        claim = await self._claim(claimant, limit)
        self._execute(claimant, claim)
        heads = [due for due in (claim.next_due, self._queues_due) if due is not None]
        # A decision of this claim may have filled a queue of this node: look again.
        has_news = self._route_check_requested and self._has_requirements(routes)
        more = claim.more or queued.more or has_news
        return Claim((*queued.runs, *claim.runs), queued.decided + claim.decided, more, min(heads, default=None))

    def _execute(self, claimant: ClaimContext, claim: Claim) -> None:
        if claim.runs:
            LOG.debug("found %d due runs", len(claim.runs))
        if self._may_execute(claimant.node):
            self._runner.execute(claim.runs)
        else:
            self._runner.release([(run.id, run.token) for _, run in claim.runs])

    def _has_requirements(self, routes: frozenset[str] | None) -> bool:
        """Return whether this node serves some routes alone, so that entries may wait for other nodes, or for this one."""
        return routes is not None or self._labels is not None

    async def claim_slices(self) -> Claim:
        """Claim one slice, or two concurrently where there is enough work and room: one is decided while the other is written.

        If the second finds nothing, because the store serializes claims, single slices are used until the backlog ends.
        """
        share = self._runner.free_capacity // 2
        if not 0 < self._last_slice <= share or self._is_serialized or self._has_lost_claim:
            claim = await self.step()
            self._is_serialized = self._is_serialized and claim.more
            self._last_slice = len(claim.runs) if claim.more else 0
            return claim
        results = await asyncio.gather(self.step(share), self.step(share), return_exceptions=True)
        claims = [claim for claim in results if isinstance(claim, Claim)]
        self._last_slice = min(len(claim.runs) for claim in claims) if len(claims) == len(results) else 0
        for result in results:
            if isinstance(result, BaseException):
                raise result
        self._is_serialized = self._last_slice == 0
        return _merge_claims(*claims)

    def request_route_check(self) -> None:
        """Check the routes with the next claim: a notification may mean that an entry was parked for this node."""
        self._route_check_requested = True

    @property
    def is_route_check_due(self) -> bool:
        """Whether a periodic route check is due: entries may be parked without a notification."""
        routes = self._routes()
        return self._has_requirements(routes) and self._is_check_due(routes)

    def _is_check_due(self, routes: frozenset[str] | None) -> bool:
        """Return whether the routes changed, or the interval has passed, since a notification may get lost.

        The interval is longer while no other node is live, but not infinite: one may have joined, parked an entry and left.
        """
        if routes is not self._checked_routes and routes != self._checked_routes:
            return True
        interval = self._route_check_interval if self.has_peers else SOLO_ROUTE_CHECK_SECONDS
        return self._clock.steady() - self._routes_checked_at >= interval

    async def _admit_routes(self, routes: frozenset[str] | None) -> None:
        self._route_check_requested, self._checked_routes, self._routes_checked_at = False, routes, self._clock.steady()
        try:
            admission = await self._store.admit(routes or ())
        except StoreError:
            # No further notification comes for entries that may be parked.
            self._route_check_requested = True
            raise
        served = ServedQueues(routes, self._labels)
        queues = [queue for queue in admission.queues if served.serves(queue.name)] if admission.queues else ()
        self._queues = frozenset([queue.name for queue in queues])
        self._queues_due = min([queue.due for queue in queues], default=None)

    def set_draining(self, draining: bool) -> None:  # noqa: FBT001 - a signal with one value
        self.is_draining = draining
        self._route_check_requested = True
        self._alarm.wake()

    @property
    def has_unknown_claims(self) -> bool:
        """Whether this node may hold runs that it does not know of: a claim is in flight, or its answer was lost."""
        return self._is_claiming or self._has_lost_claim

    def close(self) -> None:
        """Stop claiming: runs of a claim in flight are released, and `run` returns."""
        self._closing = True
        self._alarm.wake()

    def reopen(self) -> None:
        self._closing = False
        self.is_draining = False
        self._route_check_requested = True

    async def run(self) -> None:
        while not self._closing:
            self._alarm.begin_poll()
            self._is_claiming = True
            try:
                claim = await self.claim_slices()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            finally:
                self._is_claiming = False
            self.on_claimed()
            if claim.more and self._runner.free_capacity > 0:
                # Yield to the claimed runs first: very short ones end at once and free room, and a store that never suspends
                # would keep them waiting.
                await self._clock.pause(0)
                continue
            if claim.more:
                self._runner.request_room()
            self._alarm.end_poll(None if claim.more else claim.next_due)
            await self._alarm.wait()

    def _may_execute(self, node: str) -> bool:
        """Return False when the lease was lost, or the dispatcher closed, while the claim was in flight."""
        return not self._closing and self._lease.is_held and self._lease.node == node

    def _note_entries(self, facts: Facts, change: Change, callbacks: dict[Callable[[], None], None]) -> None:
        """Note what the entries of a change require after its commit."""
        if change.idle_runs:
            callbacks[self.on_yield_requests] = None
        if facts.task.policies.where:
            # The queue of the entry may be new to this node.
            self._route_check_requested = True
        if is_route(change.put[0].lane):
            callbacks[self.on_unroutable] = None

    async def _claim(self, claimant: ClaimContext, room: int, queues: frozenset[str] | None = None) -> Claim:
        callbacks: dict[Callable[[], None], None] = {}
        rule = _decide_or_defer if self._defer_failures else fire

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            change = rule(facts, entry, token, claimant)
            if change.cancelled:
                callbacks[self.on_cancellation] = None
            if change.put:
                self._note_entries(facts, change, callbacks)
            return change

        limit = room if self._claim_limit is None else min(room, self._claim_limit)
        # Ordinary starts have no callbacks. Where one decision has raised, each entry is decided by itself.
        decision = decide if self._defer_failures else ClaimDecision(claimant, decide)
        try:
            if queues is None:
                claim = await self._store.claim_due(claimant.now, claimant.node, limit, decision)
            else:
                claim = await self._store.claim_queued(claimant.now, claimant.node, limit, decision, queues)
        except TRANSIENT_ERRORS:
            # The claim may be committed although its answer was lost.
            self._has_lost_claim = True
            raise
        except Exception:
            # From here on an entry whose decision raises is deferred, so that it does not block all other claims.
            self._defer_failures = True
            raise
        self._retry.succeeded()
        for call in callbacks:
            call()
        return claim


def _merge_claims(first: Claim, second: Claim) -> Claim:
    """Merge the results of two concurrent claims."""
    heads = [claim.next_due for claim in (first, second) if claim.next_due is not None]
    runs, decided = (*first.runs, *second.runs), first.decided + second.decided
    return Claim(runs, decided, first.more or second.more, min(heads, default=None))


def _decide_or_defer(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    try:
        return fire(facts, entry, token, claim)
    except Exception:
        LOG.exception("the decision for a due entry of the task %s failed, and the entry is deferred", facts.task.id)
        return Change(put=(entry._replace(state=EntryState.TIMED, due=claim.now + DEFER_FOR),))
