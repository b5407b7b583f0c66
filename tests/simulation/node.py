"""Simulated node: successive real engines on one machine, crashed, stopped, frozen, cut off and restarted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from datetime import timedelta
from random import Random

from horae.engine.engine import Engine
from horae.engine.settings import EngineSettings
from horae.errors import StoreError
from horae.model.lanes.node_labels import LabelPairs
from horae.ports.full_store import FullStore
from horae.virtual_time import VirtualClock
from tests.simulation.faults import FaultRates, Link
from tests.simulation.faulty_store import behind
from tests.simulation.frozen_nodes import Gate, NodeClock
from tests.simulation.history import History
from tests.simulation.target import SharedTargetState, SimulatedTarget

AGAIN_SECONDS = 5.0
_BACK_SECONDS = (6.0, 120.0, 1_200.0)


class Node:
    """`lives` counts its processes: each has a name of its own, `n1.1`, `n1.2` and so on."""

    def __init__(  # noqa: PLR0917 - everything that a world gives to a node
        self,
        name: str,
        store: FullStore,
        clock: VirtualClock,
        settings: EngineSettings,
        fault_rates: FaultRates,
        surroundings: SharedTargetState,
        history: History,
        dice: Random,
    ) -> None:
        self.name = name
        self.labels: LabelPairs | None = None
        """Labels of its engines; None: they serve no queue of labelled entries."""
        self._store = store
        self._machine = clock
        self._settings = settings
        self._fault_rates = fault_rates
        self._surroundings = surroundings
        self._history = history
        self._dice = dice
        self._clock = NodeClock(clock)
        self._lives = 0
        self._gate = Gate()
        self._link: Link | None = None
        self._engine: Engine | None = None
        self._boot: asyncio.Task[None] | None = None

    @property
    def up(self) -> bool:
        return self._engine is not None

    @property
    def life(self) -> str:
        return f"{self.name}.{self._lives}"

    def start(self) -> None:
        if self.up:
            return
        self._lives += 1
        self._gate = Gate()
        self._link = Link(self.life, self._fault_rates, self._machine, self._history)
        self._link.die = self._dies_and_comes_back(self._link)
        self._history.note(self.life, "starts")
        self._begin(self._gate, self._link)

    def _begin(self, gate: Gate, link: Link) -> None:
        store = behind(self._store, link, self._history)
        target = SimulatedTarget(self._surroundings, link.who, self._clock, self._history, self._dies(link), store)
        engine = Engine(
            store,
            dict.fromkeys(target.kinds, target),
            self._clock,
            self._settings,
            version="0",
            home=link.who,
            is_gone=self._history.is_gone if self._surroundings.one_machine else _cannot_tell,
            entropy=self._dice.randbytes,
            labels=self.labels,
        )
        self._engine = engine
        self._boot = asyncio.get_running_loop().create_task(self._booting(engine), context=gate.context())

    async def _booting(self, engine: Engine) -> None:
        """Repeat the start until the store answers."""
        while True:
            try:
                await engine.start()
            except StoreError:
                await self._machine.pause(AGAIN_SECONDS)
            else:
                return

    def _dies(self, link: Link) -> Callable[[str], None]:
        def die(why: str) -> None:
            if self._link is link:
                self.crash(why)

        return die

    def _dies_and_comes_back(self, link: Link) -> Callable[[str], None]:
        """Crash the node and restart it after a while."""

        def die(why: str) -> None:
            if self._link is link and self.up:
                self.crash(why)
                asyncio.get_running_loop().call_later(self._dice.choice(_BACK_SECONDS), self.start, context=Context())

        return die

    def crash(self, why: str) -> None:
        """Simulate `kill -9`: no further call reaches the store; calls on their way may have been committed."""
        engine, link, boot = self._engine, self._link, self._boot
        if engine is None or link is None:
            return
        self._history.fault("a crash", self.life, why)
        self._history.died(self.life)
        link.dead = True
        self._gate.open(asyncio.get_running_loop())
        if boot is not None:
            boot.cancel()
        engine.kill()
        self._engine = None

    async def stop(self) -> None:
        """Stop gracefully: finish what is possible, release the rest."""
        engine, link = self._engine, self._link
        if engine is None or link is None or self._gate.closed:
            return
        self._history.fault("a stop", self.life)
        leaving = asyncio.get_running_loop().create_task(engine.stop(), context=self._gate.context())
        await asyncio.wait([leaving])
        if self._link is link and self._engine is engine:
            link.dead = True
            self._engine = None
            self._history.died(self.life)

    def cut(self, length: timedelta) -> None:
        if self._link is not None and self.up:
            self._history.fault("a partition", self.life, f"of {length}")
            self._link.cut(length.total_seconds())

    def step(self, delta: timedelta) -> None:
        """Step the clock of this node only."""
        self._history.fault("a clock step", self.life, f"of {delta.total_seconds():g} s")
        self._clock.step(delta)

    def heal(self) -> None:
        """Reconnect, correct the clock, and start the node."""
        if self._link is not None:
            self._link.cut(0)
        self._clock.offset = timedelta()
        self.start()

    async def freeze(self, length: timedelta) -> None:
        if not self.up or self._gate.closed:
            return
        self._history.fault("a suspension", self.life, f"of {length}")
        self._history.freeze(self.life, length)
        gate = self._gate
        gate.close()
        await self._machine.pause(length.total_seconds())
        gate.open(asyncio.get_running_loop())

    @property
    def identity(self) -> str:
        """Current node id in the store."""
        return "" if self._engine is None else self._engine.node

    def retire(self) -> None:
        """End the node at the end of the simulation."""
        if self._engine is not None and self._link is not None:
            self._link.dead = True
            self._engine.kill()
            self._engine = None

    def ring(self) -> None:
        if self._engine is not None and not self._gate.closed:
            self._engine.notify()


def _cannot_tell(_: str) -> bool:
    """Liveness check of another machine: unknown."""
    return False
