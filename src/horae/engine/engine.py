"""One node: all actors on one store, started and stopped as one."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any, Protocol

from ..clock import Clock
from ..errors import StoreError
from ..model.ids import ENTROPY, named
from ..model.outcome import Settlement
from ..model.reason import Reason
from ..ports.journal import Journal
from ..ports.store import Node, Order, Store
from ..ports.target import Target
from .alarm import Alarm
from .dispatcher import Dispatcher
from .home import own_home
from .janitor import Janitor
from .keeper import Keeper, Signals
from .lease import Lease
from .releaser import Releaser
from .runner import Runner
from .scribe import Scribe
from .settings import EngineSettings
from .settler import Settler


class Keeping(Store, Journal, Protocol):
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
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._version = version
        self._home = own_home() if home is None else home
        self._entropy = entropy
        terms = settings.terms
        self.alarm = Alarm(clock, terms.poll_ceiling, precise=settings.precise)
        self.lease = Lease(clock, terms)
        self.settler = Settler(store, self.alarm, clock)
        self.scribe = Scribe(store)
        self.runner = Runner(store, targets, self.settler, self.scribe, clock, settings.capacity)
        self.releaser = Releaser(store, self.alarm, clock)
        self.dispatcher = Dispatcher(store, self.runner, self.alarm, self.lease, clock, terms)
        self.janitor = Janitor(store, store, clock, settings)
        self.keeper: Keeper | None = None
        self.runner.on_room = self.alarm.ring
        self.runner.hand_back = self.releaser.add
        self.settler.on_settled = self._settled
        self.on_settled: Callable[[], None] = lambda: None
        self._actors: list[asyncio.Task[None]] = []
        self._thread: _OwnLoop | None = None

    @property
    def node(self) -> str:
        return self.lease.node

    async def start(self) -> None:
        if self._actors:
            return
        loop = asyncio.get_running_loop()
        if self._settings.own_thread:
            self._thread = _OwnLoop()
            self.keeper = await asyncio.wrap_future(self._thread.begin(self._keep(loop)))
        else:
            self.keeper = self._keeper(_direct)
            await self.keeper.join()
            await self.keeper.step()
        self.scribe.start()
        actors: list[Coroutine[Any, Any, None]] = [
            self.dispatcher.run(),
            self.settler.run(),
            self.releaser.run(),
            self.janitor.run(),
        ]
        if self._thread is None:
            actors.append(self.keeper.run())
        self._actors = [asyncio.ensure_future(actor) for actor in actors]

    def ring(self) -> None:
        """Something was added, or somebody wants a run to end."""
        self.alarm.ring()
        if self.keeper is not None:
            if self._thread is None:
                self.keeper.ring()
            else:
                self._thread.call(self.keeper.ring)

    async def stop(self) -> None:
        """Claim nothing more, let what is going end within the grace, hand back the rest, leave."""
        if not self._actors:
            return
        dispatcher, settler, *others = self._actors
        dispatcher.cancel()
        self.runner.stopping = True
        try:
            await asyncio.wait_for(self.runner.drained(), self._settings.grace.total_seconds())
        except TimeoutError:
            self.releaser.add(self.runner.abandon(Reason.RELEASED))
        settler.cancel()
        await asyncio.gather(dispatcher, settler, return_exceptions=True)
        await self._say_goodbye()
        for actor in others:
            actor.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._actors = []
        if self._thread is not None:
            await asyncio.to_thread(self._thread.end)
            self._thread = None

    def kill(self) -> None:
        """As if the process had died: nothing is settled, nothing is handed back. For tests and simulation."""
        for actor in self._actors:
            actor.cancel()
        self._actors = []
        self.runner.abandon(Reason.LEASE_LOST)
        if self._thread is not None:
            self._thread.end()
            self._thread = None

    async def _say_goodbye(self) -> None:
        """Record what has ended and give back the rest. Where the store cannot, its lease runs out instead."""
        try:
            await self.settler.flush()
            await self.releaser.flush()
            await self.scribe.stop()
            await self._store.leave(self.lease.node)
        except StoreError:
            return

    # --- the keeper, here or in a thread of its own ------------------------------------------------------------------

    async def _keep(self, loop: asyncio.AbstractEventLoop) -> Keeper:
        """Runs on the keeper's own loop: join, renew once, and go on in the background there."""
        keeper = self._keeper(loop.call_soon_threadsafe)
        await keeper.join()
        await keeper.step()
        if self._thread is not None:
            self._thread.keep(keeper.run())
        return keeper

    def _keeper(self, call: Callable[..., Any]) -> Keeper:
        signals = Signals(
            orders=lambda orders: call(self._obey, orders),
            lost=lambda: call(self._let_go),
            looked=lambda head: call(self.alarm.looked, head),
            recovered=lambda: call(self.alarm.ring),
        )
        return Keeper(self._store, self.lease, self._clock, self._settings.terms, signals, self._new_node)

    def _new_node(self) -> Node:
        now = self._clock.now()
        return Node(named("nod", now, self._entropy(ENTROPY)), self._home, self._version, now, now)

    def _obey(self, orders: tuple[Order, ...]) -> None:
        for order in orders:
            self.runner.end(order.run_id, order.reason)

    def _settled(self, _batch: tuple[Settlement, ...], _stale: frozenset[str]) -> None:
        self.runner.offer_room()
        self.on_settled()

    def _let_go(self) -> None:
        """The lease could not be renewed in time: stop everything before anybody else may start it."""
        self.releaser.add(self.runner.abandon(Reason.LEASE_LOST))


def _direct(action: Callable[..., Any], *arguments: datetime | tuple[Order, ...] | None) -> None:
    action(*arguments)


class _OwnLoop:
    """A thread with an event loop, for the one actor that must not wait for anybody's function."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._jobs: list[asyncio.Task[None]] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name="horae-keeper", daemon=True)
        self._thread.start()

    def begin(self, work: Coroutine[Any, Any, Keeper]) -> asyncio.Future[Keeper]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[return-value]

    def keep(self, work: Coroutine[Any, Any, None]) -> None:
        self._jobs.append(self._loop.create_task(work))

    def call(self, action: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(action)

    def end(self) -> None:
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._cancel(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel(self) -> None:
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
