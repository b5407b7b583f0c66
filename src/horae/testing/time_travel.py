"""Time travel: runs an app with its real engine in virtual time, so that a test covers a year in seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from zoneinfo import ZoneInfo

from ..app import Horae, TaskFunction, TaskHandle
from ..engine.settings import EngineSettings
from ..model.outcome import Outcome
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..ports.full_store import FullStore
from ..ports.store import LeaseRenewal, RunFilter, TaskFilter
from ..ports.target import Invocation, Target
from ..service.tasks.task_request import Duration, read_duration
from ..virtual_time import VirtualClock, VirtualLoop
from .travel_store import (
    MEMORY,
    TRAVEL_STORES,
    VIRTUAL_HOME,
    Contents,
    TravelStore,
    read_contents,
    refuse_store_in_use,
)
from .travel_store import refuse as refuse_travel

_T = TypeVar("_T")
_PAGE: Final = 1_000
_NEVER: Final = timedelta(days=36_500)
_UNLIMITED: Final = 10**9


class TimeTravel:
    """`with TimeTravel(app, "2026-03-28 12:00", zone="Europe/Berlin") as time:` — then `time.travel("2d")`.

    The app is opened on entry and closed on exit, with its real engine, on a new store in memory: its own store is neither
    opened nor changed. `store="copy"` starts from a copy of the contents of its own store, `store="own"` uses that store
    itself and refuses one that a node is using. Time advances only in `travel` and while `run` waits; nothing sleeps.
    """

    def __init__(
        self, app: Horae, start: datetime | str, zone: str | None = None, *, store: TravelStore = "memory"
    ) -> None:
        if store not in TRAVEL_STORES:
            raise refuse("bad_choice", name="store", value=store, allowed=", ".join(TRAVEL_STORES))
        instant = datetime.fromisoformat(start) if isinstance(start, str) else start
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=ZoneInfo(zone or app.zone))
        self.app = app
        self.clock = VirtualClock(instant.astimezone(UTC))
        self._where = store
        self._contents = Contents()
        self._lives = 0

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def travel(self, duration: Duration) -> None:
        """Advance the clock by `duration` and run everything that is due, including at its end."""
        self._loop.travel(read_duration("duration", duration))

    def travel_to(self, instant: datetime) -> None:
        if instant.tzinfo is None:
            raise refuse("naive_instant", value=instant)
        self._loop.travel(max(timedelta(0), instant - self.now))

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine at the current instant: `time.run(app.schedule(remind, "in 20m"))`."""
        return self._loop.run_until_complete(work)

    def step_clock(self, duration: timedelta) -> None:
        """Step the wall clock, forward or back."""
        self.clock.step(duration)
        if self.app.engine is not None:
            self.app.engine.notify()

    def crash(self) -> None:
        """Simulate `kill -9`: nothing is settled, nothing is released."""
        self.app.crash()
        self._loop.travel(timedelta(0))

    def restart(self) -> None:
        """Start a new process on the same store."""
        self.run(self.app.begin())

    def runs(self, task: TaskHandle | TaskFunction[Any, Any] | str | None = None) -> list[Run]:
        """Runs, oldest first: of one task (or its name), of all tasks of a function, or of all tasks."""
        return self.run(self._runs(task))

    def ran(self, task: TaskHandle | TaskFunction[Any, Any] | str | None = None) -> list[datetime]:
        """Planned instants of succeeded runs, in order."""
        return [run.planned for run in self.runs(task) if run.state is RunState.SUCCEEDED]

    def __enter__(self) -> Self:
        if self.app.is_open:
            raise refuse_travel("travel_app_open")
        if self._where == "copy":
            self._contents = asyncio.run(read_contents(self.app.url))
        elif self._where == "own":
            asyncio.run(refuse_store_in_use(self.app.url))
        self._loop = VirtualLoop(self.clock)
        self.app.use_environment(self)
        try:
            self.run(self.app.__aenter__())
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.run(self.app.__aexit__(kind, error, trace))
        finally:
            self._leave()

    def _leave(self) -> None:
        """Give the app its own clock, settings and store back."""
        self.app.use_environment(None)
        self._loop.close()

    # --- environment of the app ---------------------------------------------------------------------------------------

    def store_url(self, url: str) -> str:
        return url if self._where == "own" else MEMORY

    def key_url(self, url: str) -> str:
        """Copied secrets are encrypted with the key of the store that they come from."""
        return url if self._contents.has_secrets else self.store_url(url)

    async def opened(self, store: FullStore) -> None:
        await self._contents.load_into(store)

    def store(self, store: FullStore) -> FullStore:
        """Wrap the store: its threads take no virtual time."""
        return _RealTimeStore(store, self._loop)

    def settings(self, settings: EngineSettings) -> EngineSettings:
        """Turn off heartbeats, polling and retention.

        No other process can take over or add tasks, and a test may ask for every run of a year.
        """
        terms = settings.terms._replace(lease=_NEVER)
        waking = replace(
            settings, lease_thread=False, fine_timer=False, terms=terms, poll_interval=_NEVER, report_delays=False
        )
        return replace(waking, keep_for=_NEVER, keep_runs=_UNLIMITED, upkeep_every=_NEVER)

    def home(self) -> str:
        self._lives += 1
        return f"{VIRTUAL_HOME}{self._lives}"

    def is_gone(self, home: str) -> bool:
        return home != f"{VIRTUAL_HOME}{self._lives}"

    def functions(self, target: Target) -> Target:
        return _RealTimeTarget(target, self._loop)

    async def _runs(self, task: TaskHandle | TaskFunction[Any, Any] | str | None) -> list[Run]:
        store, found = self.app.store, list[Run]()
        for task_id in await self._ids(task):
            after: str | None = None
            while True:
                page = await store.runs(RunFilter(task_id=task_id), after, _PAGE)
                found += page.items
                after = page.after
                if after is None:
                    break
        return sorted(found, key=lambda run: (run.planned, run.attempt))

    async def _ids(self, task: TaskHandle | TaskFunction[Any, Any] | str | None) -> list[str | None]:
        if task is None:
            return [None]
        if isinstance(task, TaskFunction):
            page = await self.app.store.tasks(TaskFilter(name=task.name), limit=_PAGE)
            return [facts.task.id for facts in page.items]
        return [(await self.app.get(task)).id if isinstance(task, str) else task.id]


class _RealTimeStore:
    """Makes every store call in real time: virtual time waits for its threads."""

    def __init__(self, store: FullStore, loop: VirtualLoop) -> None:
        self._store = store
        self._loop = loop

    async def renew_lease(self, *arguments: Any, **named: Any) -> LeaseRenewal:
        """Ignore the clock of the database server, which is real time."""
        with self._loop.outside():
            return (await self._store.renew_lease(*arguments, **named))._replace(now=None)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not callable(method):
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            with self._loop.outside():
                return await method(*arguments, **named)

        return call


class _RealTimeTarget:
    """Runs functions in threads and processes in real time; those on the loop take the virtual time that they await."""

    def __init__(self, target: Target, loop: VirtualLoop) -> None:
        self._target = target
        self._loop = loop

    async def execute(self, invocation: Invocation) -> Outcome:
        if not self._leaves_the_loop(invocation):
            return await self._target.execute(invocation)
        with self._loop.outside():
            return await self._target.execute(invocation)

    def _leaves_the_loop(self, invocation: Invocation) -> bool:
        leaves = getattr(self._target, "leaves_the_loop", None)
        return bool(leaves and leaves(invocation))
