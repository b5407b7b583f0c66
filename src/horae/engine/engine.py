"""One node: all actors on one store, started and stopped as one."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from ..clock import Clock
from ..errors import StoreError
from ..model.ids import ENTROPY, named
from ..model.reason import Reason
from ..ports.journal import Journal
from ..ports.records import Records
from ..ports.store import Node, Order, Store
from ..ports.target import Target
from ..store_retry import keep_going
from .admission import Admission
from .alarm import Alarm
from .clock_follower import ClockFollower
from .delay_reporter import DelayReporter
from .dispatcher import Dispatcher
from .janitor import Janitor
from .journal_writer import Scribe
from .keeper import Keeper, Signals
from .lease import Lease
from .loop_thread import OwnThread
from .lost_claims import Doubts
from .process_identity import is_gone, own_home
from .releaser import Releaser
from .runner import Permit, Runner, permit_all
from .settings import EngineSettings
from .settler import Settler
from .store_clock import CorrectedClock

LOG: Final = logging.getLogger("horae")
CLEAN_UP_SECONDS: Final = 4.0
"""So long may runs that are stopped clean up behind them, before they are handed back all the same."""


class Keeping(Store, Records, Journal, Protocol):
    """What an engine needs of its store."""


class Engine:
    """`start` may be called again, `stop` twice. Between them everything due runs, on time and once."""

    def __init__(  # noqa: PLR0913 - the parts that a composition root may choose
        self,
        store: Keeping,
        targets: Mapping[str, Target],
        clock: Clock,
        settings: EngineSettings,
        *,
        version: str,
        home: str | None = None,
        is_gone: Callable[[str], bool] = is_gone,
        routes: Callable[[], frozenset[str] | None] = lambda: None,
        entropy: Callable[[int], bytes] = os.urandom,
        permit: Permit = permit_all,
    ) -> None:
        self._store = store
        clock = self._clock = CorrectedClock(clock)
        self._settings = settings
        self._version = version
        self._home = own_home() if home is None else home
        self._is_gone = is_gone
        self._entropy = entropy
        terms = settings.terms
        ceiling = settings.look_every or terms.poll_ceiling
        self.alarm = Alarm(clock, ceiling, precise=settings.precise, fine=settings.fine_timer)
        self.lease = Lease(clock, terms)
        self.settler = Settler(store, self.alarm, clock)
        self.scribe = Scribe(store, clock)
        self.runner = Runner(store, targets, self.settler, self.scribe, clock, settings.capacity)
        self.runner.permit = permit
        self.releaser = Releaser(store, self.alarm, clock)
        doubts = Doubts(store, self.lease, self.runner, self.settler, self.releaser)
        self.dispatcher = Dispatcher(
            store,
            self.runner,
            self.alarm,
            self.lease,
            clock,
            terms,
            doubts=doubts,
            routes=routes,
            claim_limit=settings.claim_limit,
        )
        self.clock_follower = ClockFollower(store, self.alarm, self.lease, clock, platform.node)
        self.delay_reporter = DelayReporter(store, self.lease, clock)
        self.janitor = Janitor(store, store, clock, settings)
        self._admission = Admission(store, clock, settings, is_gone)
        self.keeper: Keeper | None = None
        self.on_joined: Callable[[], Awaitable[None]] = _nothing
        """Awaited when this node holds its lease, before it claims anything."""
        self.drained = asyncio.Event()
        """Somebody wants this node to go, and there is nothing left for which it would have to stay."""
        self.runner.on_room = self.alarm.rouse
        self.runner.hand_back = self.releaser.add
        self.settler.on_settled = self._settled
        if settings.report_delays:
            self.settler.on_recorded = self.delay_reporter.add
        self.dispatcher.on_orders = self._ask_for_orders
        self.dispatcher.on_looked = self._look_whether_drained
        self.on_settled: Callable[[Collection[str]], None] = lambda _tasks: None
        self._actors: dict[str, asyncio.Task[None]] = {}
        self._thread: OwnThread | None = None
        self._changing = asyncio.Lock()

    @property
    def node(self) -> str:
        return self.lease.node

    @property
    def home(self) -> str:
        return self._home

    @property
    def clock_offset(self) -> timedelta:
        """By how much this machine's clock is corrected to the store's."""
        return self._clock.offset

    @property
    def draining(self) -> bool:
        """Whether this node has been told to claim nothing more."""
        return self.dispatcher.draining

    async def start(self) -> None:
        """Refused, with nothing claimed, where this machine's clock or this node's lease is not that of the others."""
        async with self._changing:
            if self._actors:
                return
            self.runner.stopping = False
            self.dispatcher.reopen()
            self.drained.clear()
            self.scribe.start()
            keeper = await self._take_part()
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
                name: asyncio.ensure_future(keep_going(name, run, self._clock)) for name, run in actors.items()
            }

    def ring(self) -> None:
        """Something was added, or somebody wants a run to end, or has left what it cannot run."""
        self.dispatcher.rung()
        self.alarm.ring()
        self._ask_for_orders()

    def _ask_for_orders(self) -> None:
        """Renew the lease now: the answer says which of our runs somebody wants to end."""
        if self.keeper is not None:
            if self._thread is None:
                self.keeper.ring()
            else:
                self._thread.call(self.keeper.ring)

    async def stop(self) -> None:
        """Claim nothing more, let what is going end within the grace, hand back the rest, leave."""
        async with self._changing:
            if not self._actors:
                return
            await self._end_claiming()
            await self._end_runs()
            await self._end_actors("settler", "releaser", "janitor", "clock follower", "delay reporter")
            await self._within_lease(self._write_the_rest)
            # As long as anything of this node was to be written, its lease was held; a keeper that went on after it has
            # left would take that for its death, and join again.
            await self._end_actors("keeper")
            await self._end_keeping()
            await self._within_lease(lambda: self._store.leave(self.lease.node))
            self._actors = {}

    def kill(self) -> None:
        """As if the process had died: nothing is settled, nothing is handed back. For tests and simulation."""
        for actor in self._actors.values():
            actor.cancel()
        self._actors = {}
        self.runner.forsake()
        self.keeper = None
        if self._thread is not None:
            self._thread.end()
            self._thread = None

    # --- stopping, step by step --------------------------------------------------------------------------------------

    async def _end_claiming(self) -> None:
        """An answer that is still to come is waited for: what it brings would otherwise be claimed by nobody."""
        self.dispatcher.close()
        self.runner.stopping = True
        patience = max(self._settings.grace, self._settings.terms.renewal)
        await asyncio.wait([self._actors["dispatcher"]], timeout=patience.total_seconds())
        await self._end_actors("dispatcher")

    async def _end_runs(self) -> None:
        try:
            async with asyncio.timeout(self._settings.grace.total_seconds()):
                await self.runner.drained()
        except TimeoutError:
            self.runner.abandon(Reason.RELEASED)
        try:
            async with asyncio.timeout(CLEAN_UP_SECONDS):
                await self.runner.gone()
        except TimeoutError:
            self.runner.hand_back_all()

    async def _end_actors(self, *names: str) -> None:
        ending = [self._actors[name] for name in names if name in self._actors]
        for actor in ending:
            actor.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _write_the_rest(self) -> None:
        await self.scribe.stop()
        await self.settler.flush()
        await self.releaser.flush()
        await self.delay_reporter.write()

    async def _within_lease(self, work: Callable[[], Awaitable[None]]) -> None:
        """Where the store cannot, the lease runs out instead, and others recover what is left."""
        try:
            async with asyncio.timeout(self._settings.terms.lease.total_seconds()):
                await work()
        except (StoreError, TimeoutError) as error:
            LOG.warning("stopping without a last word to the store: %r", error)
        except Exception:
            LOG.exception("stopping without a last word to the store")

    # --- the keeper, here or in a thread of its own ------------------------------------------------------------------

    async def _take_part(self) -> Keeper:
        joined = False
        try:
            keeper = await self._join()
            joined = True
            await self._admission.check(self.lease.node)
        except BaseException:
            await self._end_keeping()
            if joined:
                await self._within_lease(lambda: self._store.leave(self.lease.node))
            raise
        return keeper

    async def _join(self) -> Keeper:
        loop = asyncio.get_running_loop()
        if self._settings.own_thread:
            self._thread = OwnThread("horae-keeper")
            self.keeper = await asyncio.wrap_future(self._thread.begin(self._keep(self._thread, loop)))
        else:
            self.keeper = self._keeper(_direct)
            await self.keeper.join()
            await self.keeper.step()
        return self.keeper

    async def _keep(self, thread: OwnThread, loop: asyncio.AbstractEventLoop) -> Keeper:
        """Runs on the keeper's own loop: join, renew once, and go on in the background there."""
        keeper = self._keeper(loop.call_soon_threadsafe)
        await keeper.join()
        await keeper.step()

        async def run() -> None:
            try:
                await keeper.run()
            except RuntimeError:
                # When the node's own loop is gone, nobody is left for whom a lease could be held.
                if not loop.is_closed():
                    raise

        thread.keep(keep_going("keeper", run, self._clock))
        return keeper

    async def _end_keeping(self) -> None:
        self.keeper = None
        if self._thread is not None:
            await asyncio.to_thread(self._thread.end)
            self._thread = None

    def _keeper(self, call: Callable[..., Any]) -> Keeper:
        signals = Signals(
            orders=lambda orders: call(self._obey, orders),
            lost=lambda: call(self._let_go),
            looked=lambda head: call(self._glimpsed, head),
            company=lambda others: call(self._met, others),
            recovered=lambda: call(self.alarm.ring),
            set_back=lambda by: call(self.clock_follower.set_back, by),
            draining=lambda draining: call(self._told_to_drain, draining),
        )
        return Keeper(
            self._store,
            self.lease,
            self._clock,
            self._settings.terms,
            signals,
            new_node=self._new_node,
            is_gone=self._is_gone,
            load=lambda: self.runner.going,
        )

    def _new_node(self) -> Node:
        now = self._clock.now()
        name = named("nod", now, self._entropy(ENTROPY))
        host, capacity = platform.node(), self._settings.capacity
        return Node(name, self._home, self._version, now, now, host=host, capacity=capacity, offset=self._clock.offset)

    def _glimpsed(self, head: datetime | None) -> None:
        """The head of the agenda says nothing of what waits at a door."""
        self.alarm.glimpsed(head)
        if self.dispatcher.wants_to_look:
            self.alarm.ring()
        self._look_whether_drained()

    def _told_to_drain(self, draining: bool) -> None:  # noqa: FBT001 - a signal with one word
        """The dispatcher hears of it at once; what is carried goes on to its end."""
        LOG.warning("this node claims %s", "nothing more: it was told to drain" if draining else "again")
        self.drained.clear()
        self.dispatcher.drain(draining)

    def _look_whether_drained(self) -> None:
        """After each look, each settlement and each renewal: whatever comes last is one of these."""
        waiting = self.dispatcher.unsure or self.settler.waiting or self.releaser.waiting
        if self.draining and self.runner.idle and not waiting:
            self.drained.set()

    def _met(self, others: bool) -> None:  # noqa: FBT001 - a signal with one word
        self.dispatcher.company = others
        if not others:
            # Whoever went may have left something behind, and its ring may have got lost.
            self.dispatcher.rung()
            self.alarm.ring()

    def _obey(self, orders: tuple[Order, ...]) -> None:
        for order in orders:
            self.runner.end(order.run_id, order.reason)

    def _settled(self, tasks: Collection[str]) -> None:
        self.runner.offer_room()
        self.on_settled(tasks)
        self._look_whether_drained()

    def _let_go(self) -> None:
        """The lease could not be renewed in time: stop everything before anybody else may start it."""
        self.runner.abandon(Reason.LEASE_LOST)


def _direct(action: Callable[..., Any], *arguments: object) -> None:
    action(*arguments)


async def _nothing() -> None:
    return None
