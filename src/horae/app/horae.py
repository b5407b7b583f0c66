"""`Horae`: tasks in, runs out. The engine runs inside `async with app:`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar, Unpack, overload

from ..clock import Clock, SystemClock
from ..engine.engine import Engine
from ..engine.settings import EngineSettings
from ..errors import Conflict
from ..lifecycle.explain import Explanation
from ..model.checks import check_number
from ..model.principal import LOCAL_OWNER, Principal
from ..model.refusals import refuse
from ..model.run import Run
from ..model.task import Target as Where
from ..ports.target import Target
from ..runtime import DEFAULT_STORE, Keeping, NoRing, make_store, make_wakeup
from ..service.ledger import Ledger
from ..service.tasks import Tasks
from ..service.wishes import Duration, Options, When, Wish, read_duration
from ..settings import default_zone, precise_wake
from ..targets.function.arguments.encode import encode_arguments
from ..targets.function.origin import being_loaded
from ..targets.function.registry import Isolation, Registry, check_payload, function_spec
from ..targets.function.target import FunctionTarget
from ..version import __version__
from .chosen import Chosen, options_of
from .declared import Declaration, TaskFunction
from .handle import TaskHandle
from .interpreter import interpreter
from .surroundings import Surroundings
from .waiting import Waiting

P = ParamSpec("P")
R = TypeVar("R")
Item = tuple["TaskFunction[Any, Any] | str", When, "Mapping[str, Any] | None"]

LOG: Final = logging.getLogger("horae")
MOST_IN_LANE: Final = 1_000_000
CODE_KEY: Final = "code:"
"""The natural key of a task that a decorator declares."""


class Horae:
    """One deployment, seen from one process. Several may share a file: each occurrence still runs once."""

    def __init__(
        self,
        store: str = DEFAULT_STORE,
        *,
        zone: str | None = None,
        owner: str = LOCAL_OWNER,
        engine: bool = True,
        settings: EngineSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.url = store
        self.who = Principal(owner, admin=True)
        self.zone = default_zone(zone, os.environ).name
        self.clock: Clock = SystemClock() if clock is None else clock
        chosen = EngineSettings() if settings is None else settings
        self.settings = chosen if precise_wake(os.environ) else replace(chosen, precise=False)
        self.registry = Registry()
        self._with_engine = engine
        self._declared: dict[str, TaskFunction[Any, Any]] = {}
        self._store: Keeping | None = None
        self._engine: Engine | None = None
        self._functions: FunctionTarget | None = None
        self._wakeup = make_wakeup(store, precise=self.settings.precise)
        self._waiting = Waiting()
        self._surroundings: Surroundings | None = None
        self._entered = 0

    # --- what runs -------------------------------------------------------------------------------------------------

    @overload
    def task(self, call: Callable[P, R], /) -> TaskFunction[P, R]: ...
    @overload
    def task(
        self,
        when: When | None = None,
        /,
        *,
        name: str | None = None,
        zone: str | None = None,
        lane: str | None = None,
        isolate: Isolation | None = None,
        **options: Unpack[Chosen],
    ) -> Callable[[Callable[P, R]], TaskFunction[P, R]]: ...
    def task(
        self,
        when: Any = None,
        /,
        *,
        name: str | None = None,
        zone: str | None = None,
        lane: str | None = None,
        isolate: Isolation | None = None,
        **options: Unpack[Chosen],
    ) -> Any:
        """Make a function known: `@app.task`, or `@app.task("every 5m", retries=3)` for one that runs by itself."""
        if callable(when) and not isinstance(when, str):
            return self._declare(when, Declaration(_name_of(when)), isolate)

        def declare(call: Callable[P, R]) -> TaskFunction[P, R]:
            declaration = Declaration(name or _name_of(call), when, zone, lane, options_of(options))
            return self._declare(call, declaration, isolate)

        return declare

    def _declare(self, call: Callable[P, R], declaration: Declaration, isolate: Isolation | None) -> TaskFunction[P, R]:
        self.registry.register(declaration.name, call, isolate)
        declared = self._declared[declaration.name] = TaskFunction(call, declaration)
        return declared

    # --- when it runs ----------------------------------------------------------------------------------------------

    async def schedule(  # noqa: PLR0913 - one call says all there is to say of a task
        self,
        target: TaskFunction[Any, Any] | str,
        when: When,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        zone: str | None = None,
        name: str | None = None,
        lane: str | None = None,
        labels: Mapping[str, str] | None = None,
        **options: Unpack[Chosen],
    ) -> TaskHandle:
        """A task of its own. With a `key` it is made once, and edited when asked for again."""
        wish = self._wish(target, when, payload, options_of(options))
        wish = wish._replace(key=key, owner=owner, zone=zone or wish.zone, name=name or wish.name, labels=labels)
        task = await self.tasks.create(self.who, wish if lane is None else wish._replace(lane=lane))
        return TaskHandle(self, task)

    async def schedule_many(self, items: Iterable[Item], *, owner: str | None = None) -> list[TaskHandle]:
        """Many at once: all or none up to a thousand, in chunks of that size above."""
        # One by one as they are planned: to look at all of them first would keep what comes due waiting.
        wishes = (self._wish(target, when, payload, None, owner) for target, when, payload in items)
        with interpreter.undisturbed():
            return await self.tasks.create_many(self.who, wishes, partial(TaskHandle, self))

    async def why(self, task: TaskHandle | str, at: datetime | str) -> Explanation:
        """Why it did, or did not, run at that instant."""
        try:
            instant = datetime.fromisoformat(at) if isinstance(at, str) else at
        except ValueError:
            raise refuse("naive_instant", value=at) from None
        if instant.tzinfo is None:
            raise refuse("naive_instant", value=at)
        task_id = task if isinstance(task, str) else task.id
        return await self.ledger.why(self.who, task_id, instant)

    async def wait_for(self, task_id: str, timeout: Duration | None = None) -> Run:  # noqa: ASYNC109 - a wait has a timeout
        seconds = None if timeout is None else read_duration("timeout", timeout).total_seconds()
        async with asyncio.timeout(seconds):
            return await self._waiting.ended(lambda: self.store, task_id, self.who.scope)

    async def lane(self, name: str, limit: int) -> None:
        """At most so many runs of this lane at once, across all nodes; with 0 nothing of it starts."""
        check_number("limit", limit, 0, MOST_IN_LANE)
        await self.store.set_lane(name, limit)
        # A higher limit may have let somebody in.
        self._told(None)

    # --- its life --------------------------------------------------------------------------------------------------

    @property
    def store(self) -> Keeping:
        if self._store is None:
            raise refuse("not_open")
        return self._store

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.store, self.clock, self.zone, self._told)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.store, self.store, self.clock)

    @property
    def engine(self) -> Engine | None:
        return self._engine

    def surround(self, surroundings: Surroundings) -> None:
        """Live in another time than the machine's: for tests and simulation, before the app is opened."""
        self._surroundings = surroundings
        self.clock = surroundings.clock
        self.settings = surroundings.settings(self.settings)
        self._wakeup = NoRing()

    async def __aenter__(self) -> Self:
        """To open what is open already is no news: the last one to leave closes it."""
        self._entered += 1
        if self._entered == 1:
            try:
                await self._open()
            except BaseException:
                await self.__aexit__(None, None, None)
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = max(0, self._entered - 1)
        if self._entered == 0:
            try:
                await self.end()
            finally:
                await self._close()

    async def _open(self) -> None:
        if being_loaded():
            raise refuse("being_loaded")
        store = make_store(self.url)
        if self._surroundings is not None:
            store = self._surroundings.store(store)
        try:
            await store.open()
        except BaseException:
            await store.close()
            raise
        self._store = store
        interpreter.opened()
        await self.begin()

    async def _close(self) -> None:
        store, self._store = self._store, None
        self._waiting.look()
        if store is not None:
            interpreter.closed()
            await store.close()

    async def begin(self) -> None:
        """Declare what the code declares, then start the engine."""
        for declared in self._declared.values():
            if declared.declaration.when is not None:
                await self._keep_declared(declared)
        if not self._with_engine:
            return
        self._functions = FunctionTarget(self.registry)
        self._engine = self._make_engine(self._functions)
        self._engine.on_settled = self._waiting.ended_of
        await self._engine.start()
        self._wakeup.listen(self._engine.ring)

    async def _keep_declared(self, declared: TaskFunction[Any, Any]) -> None:
        try:
            await self.tasks.declare(self.who, self._declared_wish(declared))
        except Conflict as conflict:
            # Somebody has cancelled it for good, and code that says otherwise does not change that.
            LOG.warning("the declared task %s stays as it is: %s", declared.name, conflict)

    def _make_engine(self, functions: Target) -> Engine:
        outer = self._surroundings
        if outer is None:
            return Engine(self.store, {"function": functions}, self.clock, self.settings, version=__version__)
        return Engine(
            self.store,
            {"function": outer.functions(functions)},
            self.clock,
            self.settings,
            version=__version__,
            home=outer.home(),
            is_gone=outer.is_gone,
        )

    def crash(self) -> None:
        """As if the process had died: nothing is settled or handed back. `begin` starts a new node on what is left."""
        if self._engine is not None:
            self._engine.kill()
            self._engine = None
        self._end_functions()

    async def end(self) -> None:
        """Stop the engine, and leave the store open; safe to call twice."""
        self._wakeup.close()
        try:
            if self._engine is not None:
                await self._engine.stop()
        finally:
            self._engine = None
            self._end_functions()

    def _end_functions(self) -> None:
        functions, self._functions = self._functions, None
        if functions is not None:
            functions.close()

    # --- inside ----------------------------------------------------------------------------------------------------

    def _told(self, due: datetime | None) -> None:
        """Something was written: wake our own engine if it matters to it, and tell the other processes."""
        if due is None:
            self._waiting.look()
        if self._engine is not None:
            if due is None:
                self._engine.ring()
            else:
                self._engine.alarm.expect(due)
        self._wakeup.ring()

    def _wish(
        self,
        target: TaskFunction[Any, Any] | str,
        when: When,
        payload: Mapping[str, Any] | None,
        options: Options | None,
        owner: str | None = None,
    ) -> Wish:
        if not isinstance(target, str | TaskFunction):
            raise refuse("unknown_function", name=getattr(target, "__name__", target))
        name = target if isinstance(target, str) else target.name
        function = self.registry.find(name)
        declared = self._declared.get(name)
        if function is None or declared is None:
            raise refuse("unknown_function", name=name)
        if payload is not None and not isinstance(payload, Mapping):
            raise refuse("bad_payload", value=f"{payload!r} is no dictionary of arguments")
        text = "{}" if not payload else encode_arguments(payload)
        if not function.plain or text != "{}":
            check_payload(function, text)
        said = declared.declaration
        merged = said.options if options is None else options.over(said.options)
        return Wish(name, when, _target_for(name), text, owner, None, said.zone, said.lane, None, merged)

    def _declared_wish(self, declared: TaskFunction[Any, Any]) -> Wish:
        said = declared.declaration
        when = said.when
        if when is None:
            raise refuse("bad_when", value=None)
        return self._wish(declared, when, None, None)._replace(key=CODE_KEY + said.name)


_TARGETS: Final[dict[str, Where]] = {}


def _target_for(name: str) -> Where:
    """The same few names again and again: one value each."""
    found = _TARGETS.get(name)
    if found is None:
        found = _TARGETS[name] = Where("function", function_spec(name))
    return found


def _name_of(call: Callable[..., Any]) -> str:
    module = getattr(call, "__module__", None) or "?"
    name = getattr(call, "__qualname__", None) or type(call).__qualname__
    return name if module == "__main__" else f"{module}.{name}"
