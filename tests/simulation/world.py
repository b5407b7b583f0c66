"""One seeded simulation: engines, one store, clients and faults for a day, then a calm end and the evidence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final

from horae.engine.settings import EngineSettings
from horae.model.change import Facts
from horae.model.events.event import NumberedEvent
from horae.model.run import Run
from horae.ports.full_store import FullStore
from horae.ports.store import RunFilter, TaskFilter, Terms
from horae.virtual_time import VirtualClock
from tests.simulation.clients import Clients
from tests.simulation.evidence import Evidence
from tests.simulation.faults import FaultRates, Link
from tests.simulation.frozen_nodes import FreezingLoop
from tests.simulation.history import History, Note
from tests.simulation.nemesis import Nemesis
from tests.simulation.node import Node
from tests.simulation.target import SharedTargetState

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(hours=24)
QUIET: Final = timedelta(minutes=90)
"""Longer than lease, poll ceiling, the longest run and the longest wait for a retry together."""
TASKS: Final = 20
CAPACITY: Final = 6
"""Few enough to be used up now and then."""
STARTS: Final = (
    # Clocks change in Europe, in America, in Europe again; and a day on which nothing of the kind happens.
    datetime(2026, 3, 28, 12, tzinfo=UTC),
    datetime(2026, 3, 7, 18, tzinfo=UTC),
    datetime(2026, 10, 24, 12, tzinfo=UTC),
    datetime(2026, 6, 15, 3, 17, tzinfo=UTC),
)


class World:
    make_clients = Clients
    length = DAY
    """Time with faults."""

    def __init__(self, seed: int, make_store: Callable[[], FullStore], *, threaded: bool = False) -> None:
        self.seed = seed
        dice = _seeded("world", seed)
        self.clock = VirtualClock(dice.choice(STARTS))
        self.history = History(self.clock)
        self._complaints = _ErrorLog()
        self._threaded = threaded
        self._make_store = make_store
        self._dice = {name: _seeded(name, seed) for name in ("fault_rates", "nemesis", "people", "targets", "names")}
        self._count = dice.choice((2, 2, 2, 2, 2, 2, 3, 3, 4, 5))
        # Longer than in real life, so that the heartbeats of a whole day do not outweigh everything else.
        self.terms = Terms(10 * MINUTE, 4 * MINUTE) if self._count <= 2 else Terms(16 * MINUTE, 6 * MINUTE)
        self._one_machine = dice.random() < 0.5

    def run(self, on_note: Callable[[Note], None] = lambda _note: None) -> Evidence:
        self.history.on_note = on_note
        loop = FreezingLoop(self.clock)
        loop.threaded = self._threaded
        loop.set_exception_handler(self._check_errors)
        try:
            with self._complaints.listening():
                return loop.run_until_complete(self._live())
        finally:
            _clear(loop)

    def _check_errors(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._complaints.heard.append(f"{context['message']}: {context.get('exception')!r}")

    async def _live(self) -> Evidence:
        store = self._make_store()
        await store.open()
        fault_rates = FaultRates(self._dice["fault_rates"])
        nodes: list[Node] = []
        link = Link("people", fault_rates, self.clock, self.history)
        people = self.make_clients(
            store, link, self.clock, self.history, self._dice["people"], partial(_ring_all, nodes)
        )
        surroundings = SharedTargetState(self._dice["targets"], people.on_handed_on, one_machine=self._one_machine)
        nodes += [self._node(number, store, fault_rates, surroundings) for number in range(1, self._count + 1)]
        await people.add_initial_tasks(TASKS)
        for node in nodes:
            node.start()
        nemesis = Nemesis(
            nodes,
            fault_rates,
            self.clock,
            self.history,
            self._dice["nemesis"],
            lease=self.terms.lease,
            one_machine=self._one_machine,
        )
        await self._run_with_faults(nemesis, people)
        surroundings.benign = True
        quiet = self.clock.steady()
        self.history.note("the world", "is quiet now")
        return await self._run_without_faults(store, nodes, people, quiet)

    def _node(self, number: int, store: FullStore, fault_rates: FaultRates, surroundings: SharedTargetState) -> Node:
        settings = EngineSettings(
            terms=self.terms,
            capacity=CAPACITY,
            keep_runs=100_000,
            upkeep_every=timedelta(hours=6),
            lease_thread=False,
            fine_timer=False,
            follow_clock=False,
            report_delays=False,
        )
        return Node(
            f"n{number}", store, self.clock, settings, fault_rates, surroundings, self.history, self._dice["names"]
        )

    async def _run_with_faults(self, nemesis: Nemesis, people: Clients) -> None:
        going = [asyncio.ensure_future(nemesis.run()), asyncio.ensure_future(people.run())]
        await self.clock.pause(self.length.total_seconds())
        await people.unblock_all()
        for job in going:
            job.cancel()
            with suppress(asyncio.CancelledError):
                await job
        await nemesis.heal()

    async def _run_without_faults(self, store: FullStore, nodes: list[Node], people: Clients, quiet: float) -> Evidence:
        patience = self.terms.lease + self.terms.poll_ceiling
        await self.clock.pause(patience.total_seconds() + 20)
        recovered, recovered_at = await _all_facts(store), self.clock.now()
        nodes_up = frozenset(node.identity for node in nodes)
        await self.clock.pause((QUIET - patience).total_seconds())
        await people.read_events()
        evidence = Evidence(
            seed=self.seed,
            terms=self.terms,
            quiet=quiet,
            ended=self.clock.steady(),
            now=self.clock.now(),
            history=self.history,
            traits=people.traits,
            recovered=recovered,
            recovered_at=recovered_at,
            nodes_up=nodes_up,
            facts={each.task.id: each for each in await _all_facts(store)},
            runs={run.id: run for run in await _all_runs(store)},
            events=await _all_events(store),
            doubts=await store.check(),
            complaints=tuple(self._complaints.heard),
            lane_problems=tuple(getattr(store, "lane_problems", ())),
        )
        for node in nodes:
            node.retire()
        await store.close()
        return evidence


class _ErrorLog(logging.Handler):
    """What the engine calls an error is one: an actor that failed unexpectedly must not go unnoticed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.heard.append(f"{record.getMessage()}: {error!r}" if error else record.getMessage())

    @contextmanager
    def listening(self) -> Iterator[None]:
        log = logging.getLogger("horae")
        propagate, log.propagate = log.propagate, False
        log.addHandler(self)
        try:
            yield
        finally:
            log.removeHandler(self)
            log.propagate = propagate


def _seeded(name: str, seed: int) -> Random:
    return Random(f"{name}/{seed}")


def _ring_all(nodes: Sequence[Node]) -> None:
    for node in nodes:
        node.ring()


async def _all_facts(store: FullStore) -> tuple[Facts, ...]:
    found: list[Facts] = []
    after: str | None = None
    while True:
        page = await store.tasks(TaskFilter(), after, 1_000)
        found += page.items
        after = page.after
        if after is None:
            return tuple(found)


async def _all_runs(store: FullStore) -> tuple[Run, ...]:
    found: list[Run] = []
    after: str | None = None
    while True:
        page = await store.runs(RunFilter(), after, 1_000)
        found += page.items
        after = page.after
        if after is None:
            return tuple(found)


async def _all_events(store: FullStore) -> tuple[NumberedEvent, ...]:
    found: list[NumberedEvent] = []
    while True:
        more = await store.events(found[-1].number if found else 0)
        if not more:
            return tuple(found)
        found += more


def _clear(loop: asyncio.AbstractEventLoop) -> None:
    """Whatever still waits will wait for ever: end it, so that nothing is left behind."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.close()
