"""Setup of engine tests: virtual time, a store with injected faults, a scripted target."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any, cast

from horae.engine.engine import Engine
from horae.engine.settings import EngineSettings
from horae.errors import StoreUnavailable
from horae.lifecycle.plan import Draft, plan
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.outcome import Outcome, Succeeded
from horae.model.policy import policies_for
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.ports.full_store import FullStore
from horae.ports.store import LeaseRenewal, RunFilter, Terms
from horae.ports.target import Invocation
from horae.schedule import Once, Schedule
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, OWNER, a_node
from horae.virtual_time import VirtualClock

_numbers = count(1)

TERMS = Terms(lease=timedelta(seconds=12), poll_ceiling=timedelta(seconds=10))
"""A lease of 12 s: renewed every 3 s, stopped by its holder after 9 s."""
SETTINGS = EngineSettings(terms=TERMS, lease_thread=False, fine_timer=False, upkeep_every=timedelta(days=1))


class FaultyStore:
    """A real store whose calls can fail before or after the commit, hang, and are recorded."""

    def __init__(self, inner: object | None = None) -> None:
        self.inner = MemoryStore() if inner is None else inner
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self._before: dict[str, list[Exception | None]] = {}
        self._after: dict[str, list[Exception | None]] = {}
        self._shut: dict[str, asyncio.Event] = {}

    def fail_before(self, name: str, times: int = 1, error: Exception | None = None) -> None:
        self._before[name] = [error or StoreUnavailable("out of reach")] * times

    def fail_after(self, name: str, times: int = 1) -> None:
        self._after[name] = [StoreUnavailable("the answer got lost")] * times

    def block(self, *names: str) -> None:
        """Make these calls hang before they reach the store."""
        for name in names:
            self._shut.setdefault(name, asyncio.Event())

    def unblock(self) -> None:
        for gate in self._shut.values():
            gate.set()
        self._shut.clear()

    def count(self, name: str) -> int:
        return sum(each == name for each, _ in self.calls)

    def arguments(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for each, arguments in self.calls if each == name]

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.inner, name)

        async def through(*arguments: Any, **named_ones: Any) -> Any:
            self.calls.append((name, arguments))
            if name in self._shut:
                await self._shut[name].wait()
            _raise_next(self._before, name)
            answer = await method(*arguments, **named_ones)
            _raise_next(self._after, name)
            return answer

        return through


def _raise_next(faults: dict[str, list[Exception | None]], name: str) -> None:
    left = faults.get(name)
    if left and (error := left.pop()) is not None:
        raise error


class SlowStore:
    """A store of which one call is slow, before or after its commit."""

    def __init__(self, inner: object, clock: VirtualClock, name: str, seconds: float, *, after: bool = False) -> None:
        self._inner = inner
        self._clock = clock
        self._name = name
        self._seconds = seconds
        self._after = after

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._inner, name)

        async def through(*arguments: Any, **named_ones: Any) -> Any:
            if name == self._name and not self._after:
                await self._clock.pause(self._seconds)
            answer = await method(*arguments, **named_ones)
            if name == self._name and self._after:
                await self._clock.pause(self._seconds)
            return answer

        return through


class RenewalLog(FaultyStore):
    """A store that records the time of each lease renewal."""

    def __init__(self, clock: VirtualClock, inner: object | None = None) -> None:
        super().__init__(inner)
        self.clock = clock
        self.renewed_at: list[float] = []

    async def renew_lease(self, *arguments: object) -> object:
        self.renewed_at.append(self.clock.steady())
        return await self.__getattr__("renew_lease")(*arguments)


def as_store(door: object) -> FullStore:
    return cast("FullStore", door)


@dataclass
class ScriptedTarget:
    """A target that runs a given coroutine and records its invocations."""

    act: Callable[[Invocation], Awaitable[Outcome]] | None = None
    invocations: list[Invocation] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def execute(self, invocation: Invocation) -> Outcome:
        self.invocations.append(invocation)
        self.started.set()
        return Succeeded() if self.act is None else await self.act(invocation)


def sleep_for(clock: VirtualClock, seconds: float) -> Callable[[Invocation], Awaitable[Outcome]]:
    async def act(_: Invocation) -> Outcome:
        await clock.pause(seconds)
        return Succeeded()

    return act


async def endless(_: Invocation) -> Outcome:
    await asyncio.get_running_loop().create_future()
    return Succeeded()


def make_engine(
    store: object, target: ScriptedTarget, clock: VirtualClock, settings: EngineSettings = SETTINGS, **changes: Any
) -> Engine:
    return Engine(as_store(store), {"stub": target}, clock, replace(settings, **changes), version="1", home="here/1")


async def add_task(
    store: object,
    schedule: Schedule | datetime,
    now: datetime,
    lane: str | None = None,
    owner: str = OWNER,
    **chosen: Any,
) -> Task:
    """Add a task for the scripted target; an instant means once."""
    when = Once(at=schedule) if isinstance(schedule, datetime) else schedule
    draft = Draft(owner, "stub", when, Target("stub", "{}"), "{}", policies_for(when, chosen), lane=lane)
    change = plan(draft, make_id("tsk", now, next(_numbers).to_bytes(ENTROPY_BYTES)), now)
    await as_store(store).add([change])
    assert change.task is not None
    return change.task


async def list_runs(store: object, task: Task | None = None) -> list[Run]:
    """Oldest first."""
    page = await as_store(store).runs(RunFilter(task_id=None if task is None else task.id), limit=1_000)
    return sorted(page.items, key=lambda run: (run.planned, run.attempt))


async def wait_until(clock: VirtualClock, fulfilled: Callable[[], bool], within: float = 3_600) -> None:
    """Advance virtual time in small steps until a condition holds."""
    end = clock.steady() + within
    while not fulfilled():
        assert clock.steady() < end, "the condition never held"
        await clock.pause(0.01)


async def execute_once(
    clock: VirtualClock, act: Callable[[Invocation], Awaitable[Outcome]], seconds: float = 1_000, **policies: Any
) -> Run:
    """Run one task with one attempt and return its run."""
    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON, clock.now(), guarantee="at_most_once", **policies)
    await engine.start()
    await clock.pause(seconds)
    await engine.stop()
    (run,) = await list_runs(store, task)
    return run


class RemoteClockStore(MemoryStore):
    """A store on another machine, whose clock is ahead of the node's."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self.clock = clock
        self.ahead = timedelta(0)

    @property
    def now(self) -> datetime:
        return self.clock.now() + self.ahead

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        return (await super().renew_lease(node, now, load, offset))._replace(now=self.now)


async def list_nodes(store: object) -> list[str]:
    """Ids of all nodes, as seen by a new node."""
    whole = as_store(store)
    await whole.join(a_node("observer"))
    seen = (await whole.renew_lease("observer", NOON)).nodes
    await whole.leave("observer")
    return [node.id for node in seen]
