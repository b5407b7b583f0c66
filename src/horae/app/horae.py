"""`Horae`: tasks in, runs out. The engine runs inside `async with app:`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn, ParamSpec, TypeVar, Unpack, overload

from ..choices import Language
from ..errors import Refusal, Sentence
from ..lifecycle.explain import Explanation
from ..model.entry import Entry
from ..model.ids import run_id
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import Target as Where
from ..model.task import TaskState
from ..outgoing.callbacks import verify_callback_token
from ..ports.store import RunFilter, TaskFilter
from ..runtime.service_factory import callback_key
from ..runtime.stores import masked
from ..service.query.instants import asked_stretch
from ..service.runs.lanes import MOST_IN_LANE
from ..service.runs.runs import answered
from ..service.tasks.declared_tasks import CODE_KEY
from ..service.tasks.function_records import Defaults, FormerName, Registration
from ..service.tasks.functions import Catalogue, complete_name, nearest_function
from ..service.tasks.task_request import (
    Duration,
    Options,
    When,
    Wish,
    read_duration,
    read_interval,
    read_when,
    wish_of,
)
from ..stores.shared_transaction_refusals import refuse as refuse_to_share
from ..targets.function.arguments.encode import encode_arguments, encode_result
from ..targets.function.registry import Isolation, check_payload, function_spec
from .declared_function import Declaration, TaskFunction, former_modules, former_name
from .handles import RunHandle, TaskHandle
from .interpreter import interpreter
from .lifespan import Running
from .listeners import Handler
from .module_names import function_name
from .pages import Listing, RunListing
from .policy_arguments import Chosen, options_of
from .signatures import signature_of
from .suggestions import APP_NAMES, OPTIONS, refuse_attribute, suggesting
from .sync_app import BlockingHorae
from .wait import Occurrence

if TYPE_CHECKING:
    from ..forecast import Report

__all__ = ["MOST_IN_LANE", "Horae"]

P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound=Handler)
Item = tuple["TaskFunction[Any, Any] | str", When, "Mapping[str, Any] | None"]


class Horae(Running):
    """One deployment, seen from one process. Several may share a file: each occurrence still runs once."""

    # --- what runs -------------------------------------------------------------------------------------------------

    @overload
    def task(self, call: Callable[P, R], /) -> TaskFunction[P, R]: ...
    @overload
    def task(
        self,
        when: When | timedelta | None = None,
        /,
        *,
        name: str | None = None,
        zone: str | None = None,
        lane: str | None = None,
        labels: Mapping[str, str] | None = None,
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
        labels: Mapping[str, str] | None = None,
        isolate: Isolation | None = None,
        **options: Unpack[Chosen],
    ) -> Any:
        """Make a function known: `@app.task`, or `@app.task("every 5m", retries=3)` for one that runs by itself.

        A `timedelta` is an interval. What it declares counts for every task of the function, also for those of the
        command line, HTTP and MCP.
        """
        chosen = options_of(options)
        bare = callable(when) and not isinstance(when, str)
        runs_at = None if bare else read_interval(when)

        def declare(call: Callable[P, R]) -> TaskFunction[P, R]:
            called = function_name(call) if name is None else name
            return self._declare(call, Declaration(called, runs_at, zone, lane, chosen, labels), isolate)

        return declare(when) if bare else declare

    def _declare(self, call: Callable[P, R], declaration: Declaration, isolate: Isolation | None) -> TaskFunction[P, R]:
        if declaration.when is not None:
            # Whoever writes a schedule that means nothing hears of it where it is written, not when the app opens.
            read_when(declaration.when, self.zone if declaration.zone is None else declaration.zone, self.clock.now())
        known = self._declared.get(declaration.name)
        if known is not None and known.declaration != declaration:
            raise refuse("declared_twice", name=declaration.name, diff=_difference(known.declaration, declaration))
        self.registry.register(declaration.name, call, isolate)
        declared = self._declared[declaration.name] = TaskFunction(call, declaration, self)
        return declared

    def argument_names(self, declared: TaskFunction[Any, Any]) -> tuple[str, ...]:
        """The arguments of a task function that a payload gives, in their order."""
        function = self.registry.find(declared.name)
        return () if function is None else tuple(function.binding.parts)

    # --- when it runs ----------------------------------------------------------------------------------------------

    @suggesting(OPTIONS)
    async def schedule(  # noqa: PLR0913 - one call says all there is to say of a task
        self,
        target: TaskFunction[Any, Any] | str | Mapping[str, Any],
        when: When,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        zone: str | None = None,
        name: str | None = None,
        lane: str | None = None,
        labels: Mapping[str, str] | None = None,
        using: object | None = None,
        **options: Unpack[Chosen],
    ) -> TaskHandle:
        """A task of its own. With a `key` it is made once, and edited when asked for again.

        The target is a task function, its name, or what the wire says of a target: `{"kind": "http", "url": …}`.
        `using` is a connection of yours in a transaction: the task is there when you commit, and never if you roll back.
        """
        if using is not None and not self.store.shares_transactions:
            raise refuse_to_share("no_shared_transaction")
        catalogue = await self._catalogue_for(target)
        wish = self._wish(target, when, payload, options_of(options), catalogue=catalogue)
        called = wish.name if name is None else name
        wish = wish._replace(key=key, owner=owner, zone=wish.zone if zone is None else zone, name=called)
        wish = wish if labels is None else wish._replace(labels=labels)
        wish = wish if lane is None else wish._replace(lane=lane)
        return TaskHandle(self, await self.service.tasks.create(self.who, wish, using=using))

    async def schedule_many(self, items: Iterable[Item], *, owner: str | None = None) -> list[TaskHandle]:
        """Many at once: all or none up to a thousand, in chunks of that size above."""
        # One by one as they are planned: to look at all of them first would keep what comes due waiting.
        catalogue = await self.service.functions.load()
        wishes = (self._wish(*_parts(item), None, owner, catalogue) for item in items)
        with interpreter.undisturbed():
            return await self.service.tasks.create_many(self.who, wishes, partial(TaskHandle, self))

    async def get(self, task: str) -> TaskHandle:
        """By id, name or key, or by as much of the id or name as is unique."""
        return TaskHandle(self, (await self.service.tasks.named(self.who, task)).task)

    def tasks(  # noqa: PLR0913 - one question, with everything that may qualify it
        self,
        *,
        state: TaskState | str | Iterable[TaskState | str] | None = None,
        labels: Mapping[str, str] | None = None,
        name: str | None = None,
        text: str | None = None,
        lane: str | None = None,
        owner: str | None = None,
        limit: int | None = None,
    ) -> Listing:
        """Await it for a list, or go through it with `async for`, page by page; in the order in which they were made."""
        pairs = tuple(sorted((labels or {}).items()))
        return Listing(self, TaskFilter(owner, _states(state), name, lane, pairs, text), limit)

    def runs(
        self,
        task: TaskHandle | str | None = None,
        *,
        state: RunState | str | Iterable[RunState | str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        owner: str | None = None,
        limit: int | None = 100,
    ) -> RunListing:
        """Await it for a list, or go through it with `async for`; newest first. `limit=None`: all of them.

        `since` and `until` bound the planned instant; text is read in the app's zone.
        """
        wanted = RunFilter(owner, None, _run_states(state), self._moment(since), self._moment(until))
        return RunListing(self, task, wanted, limit)

    def _moment(self, at: datetime | str | None) -> datetime | None:
        return asked_stretch(at, self.zone, self.clock.now()).first if isinstance(at, str) else at

    async def get_run(self, run: str) -> RunHandle:
        """A run by its id, or by as much of it as is unique."""
        found = await self.service.runs.get(self.who, run)
        return RunHandle(self, found.task_id, found.id)

    async def why(self, task: TaskHandle | str, at: datetime | str | None = None) -> Explanation:
        """Why it did, or did not, run then: an instant, `2026-11-15 02:00` or `yesterday at 9am` in the app's zone, or the newest."""
        task_id = (await self.service.tasks.named(self.who, task)).task.id if isinstance(task, str) else task.id
        return (await self.service.ledger.explained(self.who, task_id, at, self.zone)).explanation

    async def wait_for(
        self,
        task_id: str,
        timeout: Duration | None = None,  # noqa: ASYNC109 - a wait has a timeout
        occurrence: Occurrence | None = None,
    ) -> Run:
        seconds = None if timeout is None else read_duration("timeout", timeout).total_seconds()
        try:
            async with asyncio.timeout(seconds):
                return await self._waiting.ended(lambda: self.store, task_id, self.who.scope, occurrence)
        except TimeoutError:
            raise TimeoutError(f"nothing of the task {task_id} has ended within {seconds:g} s") from None

    async def answer(
        self,
        run: str,
        token: str,
        *,
        result: Any = None,
        error: str | None = None,
        until: datetime | None = None,
    ) -> None:
        """Somebody went on with a run and reports: a result, an error, or (`until`) that it needs more time.

        `token` came with the call that handed it on, and proves that whoever answers was asked.
        """
        key = await callback_key(self.store)
        outcome = answered(None if result is None else encode_result(result), error, until)
        await self.service.runs.answer(run, lambda row: verify_callback_token(key, row.id, row.token, token), outcome)

    async def lane(self, name: str, limit: int) -> None:
        """At most so many runs of this lane at once, across all nodes; with 0 nothing of it starts."""
        await self.service.lanes.limit(self.who, name, limit)

    # --- what is told ----------------------------------------------------------------------------------------------

    def on(self, event: str, *, resume: str | None = None) -> Callable[[H], H]:
        """`@app.on("task.failed")`: called with each such event while the app is open; `run.*` and `*` match many.

        With `resume`, a name, it goes on after the last event that was handled, also in another process later.
        """

        def listen(handler: H) -> H:
            self._listeners.add(event, handler, resume)
            return handler

        return listen

    def run(self) -> None:
        """Open it and run until Ctrl-C or SIGTERM; then claim nothing more, let what goes on end, hand back the rest.

        A node that is drained ends too, as soon as it carries nothing.
        """
        asyncio.run(self._until_told_to_stop())

    async def _until_told_to_stop(self) -> None:
        told = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            # Windows has no such handlers; there Ctrl-C ends it by its exception.
            with suppress(NotImplementedError):
                loop.add_signal_handler(each, told.set)
        async with self:
            ends = [loop.create_task(told.wait()), loop.create_task(self.until_drained())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """For Starlette and FastAPI: `FastAPI(lifespan=horae.lifespan)`. Safe under any number of web workers."""
        async with self:
            yield

    async def simulate(
        self,
        span: Duration = "30d",
        *,
        start: datetime | None = None,
        takes: Mapping[str, Duration] | None = None,
        lanes: Mapping[str, int] | None = None,
    ) -> Report:
        """What the tasks of this app would do: the real engine on a clock that jumps, nothing touched, nothing called.

        The tasks are those that the code declares, and in an open app those that are active in its store. `takes` says
        how long a run of a task is, by the task's name; by default a second.
        """
        from ..forecast import Candidate, forecast  # noqa: PLC0415 - only who looks ahead needs it

        wishes = {wish.name: wish for wish in await self._foreseen()}
        limits = dict(lanes or {})
        if self._store is not None:
            limits = {lane.name: lane.limit for lane in await self.store.lanes()} | limits
        return await asyncio.to_thread(
            forecast,
            [Candidate(wish, (takes or {}).get(wish.name)) for wish in wishes.values()],
            start=self.clock.now() if start is None else start,
            span=span,
            zone=self.zone,
            lanes=limits,
        )

    async def _foreseen(self) -> list[Wish]:
        found = [self._declared_wish(each) for each in self._declared.values() if each.declaration.when is not None]
        if self._store is not None:
            found += [wish_of((await task.facts()).task) async for task in self.tasks(state=TaskState.ACTIVE)]
        return found

    def sync(self) -> BlockingHorae:
        """For scripts and threads that cannot await: `with app.sync() as horae: horae.schedule(…)`."""
        return BlockingHorae(self)

    def __repr__(self) -> str:
        number = len(self._declared)
        functions = f"{number} task function{'' if number == 1 else 's'}"
        return f"<Horae {masked(self.url)}, zone {self.zone}, {functions}, {'open' if self.is_open else 'closed'}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_attribute(self, "A Horae app", name, APP_NAMES, "app")

    # --- inside ----------------------------------------------------------------------------------------------------

    def run_id_of(self, entry: Entry) -> str:
        return run_id(entry.task_id, entry.origin, entry.planned, entry.attempt)

    async def _declare_all(self) -> None:
        former = self._former_names()
        await self.service.functions.register(self.who, self._registrations(), former.values())
        for alias, name in (await self.service.functions.load()).aliases.items():
            self.registry.add_alias(alias, name)
        modules: dict[str, list[str]] = {}
        former_modules_of: dict[str, tuple[str, ...]] = {}
        for declared in self._declared.values():
            names = modules.setdefault(declared.module, [])
            former_modules_of[declared.module] = former_modules(declared)
            if declared.declaration.when is not None:
                names.append(declared.name)
                if declared.name in former:
                    await self.service.code.rename(self.who, former[declared.name])
                await self._keep(declared.name, self._declared_wish(declared))
        if modules:
            others = [node for node in await self.store.nodes() if not self._is_gone(node.home)]
            alone = not others
            await self.service.code.started(self.who, modules, alone=alone, former_modules=former_modules_of)

    def _former_names(self) -> dict[str, FormerName]:
        """By present name: what an earlier version may have called the functions, where that is unambiguous."""
        found: dict[str, list[FormerName]] = {}
        for declared in self._declared.values():
            former = former_name(declared)
            if former is not None and former.name not in self._declared:
                found.setdefault(former.name, []).append(former)
        return {each[0].current: each[0] for each in found.values() if len(each) == 1}

    def _wish(
        self,
        target: TaskFunction[Any, Any] | str | Mapping[str, Any],
        when: When,
        payload: Mapping[str, Any] | None,
        options: Options | None,
        owner: str | None = None,
        catalogue: Catalogue | None = None,
    ) -> Wish:
        """`catalogue` has the functions of other processes; without it, those are resolved when the task is made."""
        if isinstance(target, Mapping):
            whole = self._elsewhere(target, when, payload, options, owner)
            return whole if catalogue is None else catalogue.resolve(whole).wish
        if not isinstance(target, str | TaskFunction):
            raise refuse("unknown_function", name=getattr(target, "__name__", target))
        name = self._whole_name(target, catalogue) if isinstance(target, str) else target.name
        function = self.registry.find(name)
        declared = self._declared.get(name)
        if function is None or declared is None:
            if catalogue is None or name not in catalogue.functions:
                raise self._unknown(name, catalogue)
            whole = self._elsewhere({"function": name}, when, payload, options, owner)
            return catalogue.resolve(whole._replace(name=name)).wish
        if payload is not None and not isinstance(payload, Mapping):
            first = next(iter(function.binding.parts), None)
            example = "{}" if first is None else f"{{'{first}': ...}}"
            raise refuse("payload_not_named", function=name, value=repr(payload), example=example)
        text = "{}" if not payload else encode_arguments(payload)
        if not function.plain or text != "{}":
            check_payload(function, text)
        said = declared.declaration
        merged = said.options if options is None else options.over(said.options)
        return Wish(
            name, when, _target_for(name), text, owner, None, said.zone, said.lane, said.labels, merged, resolved=True
        )

    def _whole_name(self, name: str, catalogue: Catalogue | None) -> str:
        """The registered name: one without its module is enough where it is unique."""
        if name in self._declared:
            return name
        found = None if catalogue is None else catalogue.whole_name(name)
        return found or complete_name(name, self._declared) or name

    def _unknown(self, name: str, catalogue: Catalogue | None) -> Refusal:
        """The refusal, with the name that was probably meant."""
        refusal = refuse("unknown_function", name=name)
        known = sorted({*self.registry.names(), *(() if catalogue is None else catalogue.functions)})
        near = nearest_function(name, known)
        if near is None:
            return refusal
        en, zh = refusal.in_language("en"), refusal.in_language("zh")
        better: dict[Language, Sentence] = {
            "en": en._replace(hint=f"Did you mean '{near}'?"),
            "zh": zh._replace(hint=f"是不是“{near}”?"),
        }
        return type(refusal)(refusal.code, better, facts=refusal.facts)

    async def _catalogue_for(self, target: object) -> Catalogue | None:
        """Read only for a name that this app does not declare itself."""
        is_local = not isinstance(target, str) or target in self._declared
        return None if is_local else await self.service.functions.load(fresh=True)

    def _registrations(self) -> list[Registration]:
        """Every function of this app, as other processes are to know it."""
        now = self.clock.now()
        found = []
        for name, declared in self._declared.items():
            function, said = self.registry.find(name), declared.declaration
            if function is not None:
                defaults = Defaults(said.zone, said.lane, said.labels, said.options)
                found.append(Registration(name, declared.module, signature_of(function.binding), defaults, now))
        return found

    def _elsewhere(
        self,
        target: Mapping[str, Any],
        when: When,
        payload: Mapping[str, Any] | None,
        options: Options | None,
        owner: str | None,
    ) -> Wish:
        """A target that is no function of ours, as the wire says it."""
        from ..wire.tasks import read_target  # noqa: PLC0415 - functions do without

        read = read_target({"target": target} if "kind" in target else target)
        text = "{}" if payload is None else encode_arguments(payload)
        return Wish(read.kind, when, read, text, owner, options=Options() if options is None else options)

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


def _difference(before: Declaration, after: Declaration) -> str:
    changed = [name for name in Declaration._fields if getattr(before, name) != getattr(after, name)]
    return "; ".join(f"{name}: {getattr(before, name)} -> {getattr(after, name)}" for name in changed)


def _parts(item: Any) -> tuple[Any, Any, Any]:
    """(target, when) or (target, when, payload)."""
    if not isinstance(item, tuple | list) or not 2 <= len(item) <= 3:
        raise refuse("bad_item", value=repr(item))
    return item[0], item[1], item[2] if len(item) == 3 else None


def _run_states(state: RunState | str | Iterable[RunState | str] | None) -> frozenset[RunState] | None:
    if state is None:
        return None
    wanted = [state] if isinstance(state, str) else list(state)
    try:
        return frozenset(RunState(each) for each in wanted)
    except ValueError:
        raise refuse("bad_choice", name="state", value=wanted, allowed=", ".join(RunState)) from None


def _states(state: TaskState | str | Iterable[TaskState | str] | None) -> frozenset[TaskState] | None:
    if state is None:
        return None
    wanted = [state] if isinstance(state, str) else list(state)
    try:
        return frozenset(TaskState(each) for each in wanted)
    except ValueError:
        raise refuse("bad_choice", name="state", value=wanted, allowed=", ".join(TaskState)) from None
