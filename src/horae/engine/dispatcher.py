"""Claims what is due and hands it to the runner; when nothing is, sleeps until something will be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from ..lifecycle.fire import fire
from ..lifecycle.start import Claimant
from ..model.change import Change, Facts
from ..model.entry import Entry, Stand
from ..model.route import is_route
from ..ports.store import Agenda, Claim, Terms
from ..store_retry import StoreRetry
from .alarm import Alarm
from .lease import Lease
from .lost_claims import Doubts
from .runner import Runner
from .settler import AWAY

LONGEST_PAUSE: Final = 0.5
"""Seconds between two attempts to claim while the store fails: what is due starts soon after it answers again."""
ALONE_SECONDS: Final = 60.0
"""How often a node that is alone looks at its doors."""
SOONEST_SECONDS: Final = 1.0
"""However long a lease is, a busy node does not look at its doors with every claim."""
SET_ASIDE_FOR: Final = timedelta(minutes=1)
LOG: Final = logging.getLogger("horae")


class Dispatcher:
    def __init__(  # noqa: PLR0913 - its tools, each with one purpose
        self,
        store: Agenda,
        runner: Runner,
        alarm: Alarm,
        lease: Lease,
        clock: Clock,
        terms: Terms,
        *,
        doubts: Doubts,
        routes: Callable[[], frozenset[str] | None] = lambda: None,
        claim_limit: int | None = None,
    ) -> None:
        self._store = store
        self._runner = runner
        self._alarm = alarm
        self._lease = lease
        self._clock = clock
        self._ceiling = terms.poll_ceiling
        self._claim_limit = claim_limit
        self._doubts = doubts
        self._doubtful = False
        self._closing = False
        self._slice = 0
        """How much the look before brought, if there is more."""
        self._singly = False
        self._asking = False
        self._careful = False
        self._retry = StoreRetry("claiming", clock, longest=LONGEST_PAUSE)
        self._routes = routes
        self._doors: frozenset[str] | None = None
        self._doors_asked = float("-inf")
        # Looked for with each renewal of the lease, so that all in all it is no later than the ceiling.
        self._between_doors = max(SOONEST_SECONDS, (terms.poll_ceiling - terms.renewal).total_seconds())
        self._rung = True
        self.company = False
        """Whether other nodes are there, who may leave at the door what they cannot run."""
        self.draining = False
        """Claim nothing more, until somebody thinks better of it: what is due is for others."""
        self.on_looked: Callable[[], None] = lambda: None
        """Called after each look that came to an end."""
        self.on_orders: Callable[[], None] = lambda: None
        """Called when a claim has asked for the end of a run, which may be one of ours."""
        self.on_stranded: Callable[[], None] = lambda: None
        """Called when something came due that this node cannot run: another one may."""

    async def step(self, room: int | None = None) -> Claim:
        """One slice. The instant is read before the store is asked, so nothing is ever claimed early."""
        room = self._runner.room if room is None else room
        if self._closing or not self._lease.held or (room <= 0 and not self.draining):
            return Claim(more=room <= 0)
        if self._doubtful:
            await self._doubts.step()
            self._doubtful = False
        if self.draining:
            return Claim()
        routes = self._routes()
        if routes is not None and (self._rung or self._is_time_for(routes)):
            await self._ask_at(routes)
        claimant = Claimant(self._lease.node, self._clock.now(), self._ceiling, routes)
        claim = await self._claim(claimant, room)
        if self._may_carry(claimant.node):
            self._runner.carry(claim.runs)
        else:
            self._runner.hand_back([(run.id, run.token) for _, run in claim.runs])
        return claim

    async def look(self) -> Claim:
        """A slice; or two at once where there is more than one slice of work, and room for both: while one is written, the
        other is decided. Where the second finds nothing, because the store gives out turns one by one, it is left at that
        until the next time."""
        share = self._runner.room // 2
        if not 0 < self._slice <= share or self._singly or self._doubtful:
            claim = await self.step()
            self._singly = self._singly and claim.more
            self._slice = len(claim.runs) if claim.more else 0
            return claim
        both = await asyncio.gather(self.step(share), self.step(share), return_exceptions=True)
        claims = [claim for claim in both if isinstance(claim, Claim)]
        self._slice = min(len(claim.runs) for claim in claims) if len(claims) == len(both) else 0
        for failed in both:
            if isinstance(failed, BaseException):
                raise failed
        self._singly = self._slice == 0
        return _together(*claims)

    def rung(self) -> None:
        """Something was said by somebody: perhaps that there is work at the door."""
        self._rung = True

    @property
    def wants_to_look(self) -> bool:
        """Whether somebody may wait at a door without anybody having said so: nothing else would wake it for that."""
        routes = self._routes()
        return routes is not None and self._is_time_for(routes)

    def _is_time_for(self, routes: frozenset[str]) -> bool:
        """A door is new; or, since a ring may get lost, now and then: less often while nobody else is there, but somebody
        may have come, left something and gone."""
        if routes is not self._doors and routes != self._doors:
            return True
        patience = self._between_doors if self.company else ALONE_SECONDS
        return self._clock.steady() - self._doors_asked >= patience

    async def _ask_at(self, routes: frozenset[str]) -> None:
        self._rung, self._doors, self._doors_asked = False, routes, self._clock.steady()
        try:
            await self._store.admit(routes)
        except StoreError:
            # Nobody will ring again for what may wait there.
            self._rung = True
            raise

    def drain(self, draining: bool) -> None:  # noqa: FBT001 - a signal with one word
        self.draining = draining
        self._rung = True
        self._alarm.rouse()

    @property
    def unsure(self) -> bool:
        """Whether this node may hold what it does not know of yet: a claim is on its way, or its answer got lost."""
        return self._asking or self._doubtful

    def close(self) -> None:
        """Claim nothing more; what an answer still brings is handed back, and `run` returns."""
        self._closing = True
        self._alarm.rouse()

    def reopen(self) -> None:
        self._closing = False
        self.draining = False
        self._rung = True

    async def run(self) -> None:
        while not self._closing:
            self._alarm.looking()
            self._asking = True
            try:
                claim = await self.look()
            except StoreError as error:
                await self._retry.wait(error)
                continue
            finally:
                self._asking = False
            self.on_looked()
            if claim.more and self._runner.room > 0:
                # What was claimed begins first: what is over at once takes no room, and a store that answers at once would
                # keep it waiting.
                await self._clock.pause(0)
                continue
            if claim.more:
                self._runner.want_room()
            self._alarm.looked(None if claim.more else claim.next_due)
            await self._alarm.wait()

    def _may_carry(self, node: str) -> bool:
        """Not when the answer took so long that the lease ran out, or that nobody wants it any more."""
        return not self._closing and self._lease.held and self._lease.node == node

    async def _claim(self, claimant: Claimant, room: int) -> Claim:
        orders: list[str] = []
        left: list[str] = []
        answer = _decided_or_set_aside if self._careful else fire

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            change = answer(facts, entry, token, claimant)
            if change.cancelled:
                orders.append(facts.task.id)
            if change.put and is_route(change.put[0].lane):
                left.append(facts.task.id)
            return change

        most = room if self._claim_limit is None else min(room, self._claim_limit)
        try:
            claim = await self._store.claim_due(claimant.now, claimant.node, most, decide)
        except AWAY:
            # It may have been written all the same, and only its answer got lost.
            self._doubtful = True
            raise
        except Exception:
            # From here on, what cannot be decided is set aside: it must not keep everything else from being claimed.
            self._careful = True
            raise
        self._retry.succeeded()
        if orders:
            self.on_orders()
        if left:
            self.on_stranded()
        return claim


def _together(first: Claim, second: Claim) -> Claim:
    """What two looks at the same time have seen."""
    heads = [claim.next_due for claim in (first, second) if claim.next_due is not None]
    runs, decided = (*first.runs, *second.runs), first.decided + second.decided
    return Claim(runs, decided, first.more or second.more, min(heads, default=None))


def _decided_or_set_aside(facts: Facts, entry: Entry, token: int, claim: Claimant) -> Change:
    try:
        return fire(facts, entry, token, claim)
    except Exception:
        LOG.exception("what came due of the task %s cannot be decided, and is set aside for now", facts.task.id)
        return Change(put=(entry._replace(stand=Stand.TIMED, due=claim.now + SET_ASIDE_FOR),))
