"""`Horae`, the application object: declares task functions, creates and queries tasks, runs an engine while open."""

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
from ..lifecycle.explain.explanation import Explanation
from ..model.entry import Entry
from ..model.ids import run_id
from ..model.lanes.rate import Rate
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import Target as TargetSpec
from ..model.task import Task, TaskPast, TaskState
from ..outgoing.signatures import verify_callback_token
from ..ports.store import RunFilter, TaskFilter
from ..ports.target import RunService
from ..runtime.service_factory import callback_key
from ..runtime.stores import mask_url
from ..service.query.instants import parse_span
from ..service.runs.lanes import MAX_LANE_LIMIT
from ..service.runs.runs import build_outcome
from ..service.tasks.chain_order import chain_order
from ..service.tasks.functions.declared_tasks import CODE_KEY_PREFIX
from ..service.tasks.functions.functions import FunctionCatalogue, complete_name, nearest_function
from ..service.tasks.functions.records import Defaults, FormerName, Registration
from ..service.tasks.task_request import (
    Duration,
    Options,
    TaskRequest,
    When,
    read_duration,
    read_interval,
    read_when,
    request_of,
)
from ..stores.shared_transaction_refusals import refuse as refuse_to_share
from ..targets.function.arguments.encode import encode_arguments, encode_result
from ..targets.function.registry import Isolation, check_payload, function_spec
from .declared_function import (
    Declaration,
    PolicyArguments,
    TaskFunction,
    former_modules,
    former_name,
    signature_of,
    to_options,
)
from .garbage_collection import interpreter_tuning
from .handles import RunHandle, RunListing, TaskHandle, TaskListing
from .lifespan import AppLifespan
from .listeners import Handler
from .messages import AppMessages
from .module_names import function_name
from .run_service import AppRunService
from .suggestions import APP_NAMES, OPTIONS, refuse_attribute, suggest_keywords
from .sync_app import BlockingHorae
from .wait import Occurrence

if TYPE_CHECKING:
    from ..forecast import Candidate, Report

__all__ = ["MAX_LANE_LIMIT", "Horae"]

P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound=Handler)
Item = tuple["TaskFunction[Any, Any] | str", When, "Mapping[str, Any] | None"]


class Horae(AppLifespan):
    """One deployment, seen from one process. Several may share a store: each occurrence still runs once."""

    # --- task functions --------------------------------------------------------------------------------------------

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
        **options: Unpack[PolicyArguments],
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
        **options: Unpack[PolicyArguments],
    ) -> Any:
        """Register a function: `@app.task`, or `@app.task("every 5m", retries=3)` to schedule it when the app opens.

        A `timedelta` is an interval. The declared zone, lane, labels and policies are the defaults of every task of the
        function, also of those created by the command line, HTTP and MCP.
        """
        policies = to_options(options)
        is_bare = callable(when) and not isinstance(when, str)
        schedule = None if is_bare else read_interval(when)

        def declare(call: Callable[P, R]) -> TaskFunction[P, R]:
            declared_name = function_name(call) if name is None else name
            return self._declare(call, Declaration(declared_name, schedule, zone, lane, policies, labels), isolate)

        return declare(when) if is_bare else declare

    def _declare(self, call: Callable[P, R], declaration: Declaration, isolate: Isolation | None) -> TaskFunction[P, R]:
        if declaration.when is not None:
            # An invalid schedule is refused at the decorator, not when the app opens.
            read_when(declaration.when, self.zone if declaration.zone is None else declaration.zone, self.clock.now())
        known = self._declared.get(declaration.name)
        if known is not None and known.declaration != declaration:
            raise refuse("declared_twice", name=declaration.name, diff=_difference(known.declaration, declaration))
        self.registry.register(declaration.name, call, isolate)
        declared = self._declared[declaration.name] = TaskFunction(call, declaration, self)
        return declared

    def argument_names(self, declared: TaskFunction[Any, Any]) -> tuple[str, ...]:
        """Return the names of the arguments that a payload fills, in declaration order."""
        function = self.registry.find(declared.name)
        return () if function is None else tuple(function.binding.fields)

    # --- tasks and runs --------------------------------------------------------------------------------------------

    @suggest_keywords(OPTIONS)
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
        past: TaskPast | None = None,
        **options: Unpack[PolicyArguments],
    ) -> TaskHandle:
        """Create a task. With a `key` it is created once; the same key again edits that task.

        The target is a task function, its name, or a target in wire format: `{"kind": "http", "url": …}`.
        `using` is your own connection with an open transaction: the task exists once you commit, and never if you roll back.
        `past` is that of a task which began in another scheduler: what was missed since is then accounted for.
        """
        if using is not None and not self.store.shares_transactions:
            raise refuse_to_share("no_shared_transaction")
        catalogue = await self._catalogue_for(target)
        request = self._make_request(target, when, payload, to_options(options), catalogue=catalogue)
        task_name = request.name if name is None else name
        request = request._replace(key=key, owner=owner, zone=request.zone if zone is None else zone, name=task_name)
        request = request if labels is None else request._replace(labels=labels)
        request = request if lane is None else request._replace(lane=lane)
        request = request if past is None else request._replace(past=past)
        return TaskHandle(self, await self.service.tasks.create(self.who, request, using=using))

    async def schedule_many(self, items: Iterable[Item], *, owner: str | None = None) -> list[TaskHandle]:
        """Create many tasks: up to a thousand in one transaction, more in chunks of a thousand."""
        # A generator: building all requests up front would block the event loop and delay due runs.
        catalogue = await self.service.functions.load()
        requests = (self._make_request(*_item_parts(item), None, owner, catalogue) for item in items)
        with interpreter_tuning.without_gc():
            return await self.service.tasks.create_many(self.who, requests, partial(TaskHandle, self))

    async def get(self, task: str) -> TaskHandle:
        """Find a task by id, name or key, or by a unique prefix of its id or name."""
        return TaskHandle(self, (await self.service.tasks.find_by_name(self.who, task)).task)

    def tasks(  # noqa: PLR0913 - one filter argument each
        self,
        *,
        state: TaskState | str | Iterable[TaskState | str] | None = None,
        labels: Mapping[str, str] | None = None,
        name: str | None = None,
        text: str | None = None,
        lane: str | None = None,
        owner: str | None = None,
        limit: int | None = None,
    ) -> TaskListing:
        """List tasks in order of creation: await the result for a list, or iterate it page by page with `async for`."""
        pairs = tuple(sorted((labels or {}).items()))
        return TaskListing(self, TaskFilter(owner, _task_states(state), name, lane, pairs, text), limit)

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
        """List runs, newest first: await the result for a list, or iterate it with `async for`. `limit=None`: all runs.

        `since` and `until` bound the planned instant; text is parsed in the app's zone.
        """
        run_filter = RunFilter(owner, None, _run_states(state), self._parse_instant(since), self._parse_instant(until))
        return RunListing(self, task, run_filter, limit)

    def _parse_instant(self, at: datetime | str | None) -> datetime | None:
        return parse_span(at, self.zone, self.clock.now()).first if isinstance(at, str) else at

    async def get_run(self, run: str) -> RunHandle:
        """Find a run by its id or a unique prefix of it."""
        row = await self.service.runs.get(self.who, run)
        return RunHandle(self, row.task_id, row.id)

    async def why(self, task: TaskHandle | str, at: datetime | str | None = None) -> Explanation:
        """Explain why a task did, or did not, run.

        `at` is an instant, or text such as `2026-11-15 02:00` or `yesterday at 9am` in the app's zone; by default the
        newest occurrence.
        """
        task_id = (await self.service.tasks.find_by_name(self.who, task)).task.id if isinstance(task, str) else task.id
        return (await self.service.explanations.explain(self.who, task_id, at, self.zone)).explanation

    async def wait_for(
        self,
        task_id: str,
        timeout: Duration | None = None,  # noqa: ASYNC109 - a wait has a timeout
        occurrence: Occurrence | None = None,
    ) -> Run:
        """Wait until an occurrence of the task has ended and return its last run; `TimeoutError` after `timeout`."""
        seconds = None if timeout is None else read_duration("timeout", timeout).total_seconds()
        try:
            async with asyncio.timeout(seconds):
                return await self._waiters.wait_for_end(lambda: self.store, task_id, self.who.owner_filter, occurrence)
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
        """Report on a run that an external system continued: a result, an error, or (`until`) that it needs more time.

        `token` is the callback token sent with the original request; it authenticates the reporter.
        """
        key = await callback_key(self.store)
        outcome = build_outcome(None if result is None else encode_result(result), error, until)
        await self.service.runs.answer(run, lambda row: verify_callback_token(key, row.id, row.token, token), outcome)

    async def lane(self, name: str, limit: int | None = None, *, rate: Rate | str | None = "keep") -> None:
        """Limit how many runs of this lane go on at once, across all nodes; with 0 none starts.

        `rate="100/1s"` allows at most so many starts within any period, None removes the rate. Whichever is not given stays.
        """
        await self.service.lanes.limit(self.who, name, limit, rate=rate)

    def _run_service(self, task: Task) -> RunService:
        return AppRunService(self, task)

    @property
    def messages(self) -> AppMessages:
        """Message streams: `await app.messages.send("chat:12", "hello")`."""
        return AppMessages(self)

    # --- events and running ----------------------------------------------------------------------------------------

    def on(self, event: str, *, resume: str | None = None) -> Callable[[H], H]:
        """Register an event handler, called while the app is open: `@app.on("task.failed")`; `run.*` and `*` match many.

        With `resume`, the name of a stored cursor, it continues after the last event handled, also in a later process.
        """

        def listen(handler: H) -> H:
            self._listeners.add(event, handler, resume)
            return handler

        return listen

    def run(self) -> None:
        """Open the app and run until Ctrl-C or SIGTERM; then claim nothing more, let active runs end, hand back the rest.

        A drained node also returns, once it has no active run.
        """
        asyncio.run(self._run_until_stopped())

    async def _run_until_stopped(self) -> None:
        stop_requested = asyncio.Event()
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            # Windows has no signal handlers on the loop; there Ctrl-C raises KeyboardInterrupt.
            with suppress(NotImplementedError):
                loop.add_signal_handler(signal_number, stop_requested.set)
        async with self:
            waiters = [loop.create_task(stop_requested.wait()), loop.create_task(self.until_drained())]
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
            for waiter in waiters:
                waiter.cancel()

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """Lifespan for Starlette and FastAPI: `FastAPI(lifespan=horae.lifespan)`. Safe under any number of web workers."""
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
        """Forecast the runs of this app's tasks with the real engine on virtual time; no store is written, no target called.

        Covers the declared tasks and, in an open app, the active tasks of its store. `takes` maps a task's name to the
        duration of a run; the default is one second.
        """
        from ..forecast import forecast  # noqa: PLC0415 - only a forecast needs it

        candidates = await self._forecast_candidates()
        limits, rates = dict(lanes or {}), {}
        if self._store is not None:
            known = await self.store.lanes()
            # A closed lane counts as one that opens.
            limits = {lane.name: max(1, lane.limit) for lane in known} | limits
            rates = {lane.name: lane.rate for lane in known if lane.rate is not None}
        return await asyncio.to_thread(
            forecast,
            [each._replace(takes=(takes or {}).get(each.request.name)) for each in candidates],
            start=self.clock.now() if start is None else start,
            span=span,
            zone=self.zone,
            lanes=limits,
            rates=rates,
        )

    async def _forecast_candidates(self) -> list[Candidate]:
        """Return the active tasks of the store of an open app, and the declared scheduled tasks that are not among them."""
        from ..forecast import Candidate  # noqa: PLC0415

        stored = []
        if self._store is not None:
            stored = [(await task.facts()).task async for task in self.tasks(state=TaskState.ACTIVE)]
        names = {task.name for task in stored}
        declared = [
            Candidate(self._declared_request(each))
            for name, each in self._declared.items()
            if each.declaration.when is not None and name not in names
        ]
        return [*declared, *(Candidate(request_of(task), id=task.id) for task in stored)]

    def sync(self) -> BlockingHorae:
        """Return the blocking API, for scripts and threads that cannot await: `with app.sync() as horae: …`."""
        return BlockingHorae(self)

    def __repr__(self) -> str:
        number = len(self._declared)
        functions = f"{number} task function{'' if number == 1 else 's'}"
        return f"<Horae {mask_url(self.url)}, zone {self.zone}, {functions}, {'open' if self.is_open else 'closed'}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_attribute(self, "A Horae app", name, APP_NAMES, "app")

    # --- internals -------------------------------------------------------------------------------------------------

    def run_id_of(self, entry: Entry) -> str:
        return run_id(entry.task_id, entry.origin, entry.planned, entry.attempt)

    def _request_or_none(self, declared: TaskFunction[Any, Any]) -> TaskRequest | None:
        return None if declared.declaration.when is None else self._declared_request(declared)

    async def _declare_all(self) -> None:
        former = self._former_names()
        await self.service.functions.register(self.who, self._registrations(), former.values())
        for alias, name in (await self.service.functions.load()).aliases.items():
            self.registry.add_alias(alias, name)
        modules: dict[str, list[str]] = {}
        former_modules_of: dict[str, tuple[str, ...]] = {}
        for declared in chain_order(list(self._declared.values()), self._request_or_none):
            names = modules.setdefault(declared.module, [])
            former_modules_of[declared.module] = former_modules(declared)
            if declared.declaration.when is not None:
                names.append(declared.name)
                if declared.name in former:
                    await self.service.declared_tasks.rename(self.who, former[declared.name])
                await self._upsert_declared(declared.name, self._declared_request(declared))
        if modules:
            others = [node for node in await self.store.nodes() if not self._is_gone(node.home)]
            announced = await self.service.functions.by_node() if others else {}
            elsewhere = {name for node in others for name in announced.get(node.id) or announced.get(node.home, ())}
            await self.service.declared_tasks.register_start(
                self.who, modules, elsewhere=elsewhere, former_modules=former_modules_of
            )

    def _former_names(self) -> dict[str, FormerName]:
        """Map the current names of functions to the unambiguous names that earlier versions gave them."""
        by_former: dict[str, list[FormerName]] = {}
        for declared in self._declared.values():
            former = former_name(declared)
            if former is not None and former.name not in self._declared:
                by_former.setdefault(former.name, []).append(former)
        return {each[0].current: each[0] for each in by_former.values() if len(each) == 1}

    def _make_request(
        self,
        target: TaskFunction[Any, Any] | str | Mapping[str, Any],
        when: When,
        payload: Mapping[str, Any] | None,
        options: Options | None,
        owner: str | None = None,
        catalogue: FunctionCatalogue | None = None,
    ) -> TaskRequest:
        """Build the request for a task of this target.

        `catalogue` lists the functions of other processes; without it, those are resolved when the task is created.
        """
        if isinstance(target, Mapping):
            request = self._external_request(target, when, payload, options, owner)
            return request if catalogue is None else catalogue.resolve(request).request
        if not isinstance(target, str | TaskFunction):
            raise refuse("unknown_function", name=getattr(target, "__name__", target))
        name = self._complete_name(target, catalogue) if isinstance(target, str) else target.name
        function = self.registry.find(name)
        declared = self._declared.get(name)
        if function is None or declared is None:
            if catalogue is None or name not in catalogue.functions:
                raise self._unknown_function(name, catalogue)
            request = self._external_request({"function": name}, when, payload, options, owner)
            return catalogue.resolve(request._replace(name=name)).request
        if payload is not None and not isinstance(payload, Mapping):
            first = next(iter(function.binding.fields), None)
            example = "{}" if first is None else f"{{'{first}': ...}}"
            raise refuse("payload_not_named", function=name, value=repr(payload), example=example)
        text = "{}" if not payload else encode_arguments(payload)
        if not function.needs_no_arguments or text != "{}":
            check_payload(function, text)
        defaults = declared.declaration
        merged = defaults.options if options is None else options.merged_with(defaults.options)
        return TaskRequest(
            name,
            when,
            _target_for(name),
            text,
            owner,
            None,
            defaults.zone,
            defaults.lane,
            defaults.labels,
            merged,
            resolved=True,
        )

    def _complete_name(self, name: str, catalogue: FunctionCatalogue | None) -> str:
        """Return the registered name; a name without its module is completed where it is unique."""
        if name in self._declared:
            return name
        registered = None if catalogue is None else catalogue.whole_name(name)
        return registered or complete_name(name, self._declared) or name

    def _unknown_function(self, name: str, catalogue: FunctionCatalogue | None) -> Refusal:
        """Return the refusal, with the closest known name as its hint."""
        refusal = refuse("unknown_function", name=name)
        known = sorted({*self.registry.names(), *(() if catalogue is None else catalogue.functions)})
        near = nearest_function(name, known)
        if near is None:
            return refusal
        en, zh = refusal.in_language("en"), refusal.in_language("zh")
        sentences: dict[Language, Sentence] = {
            "en": en._replace(hint=f"Did you mean '{near}'?"),
            "zh": zh._replace(hint=f"是不是“{near}”?"),
        }
        return type(refusal)(refusal.code, sentences, facts=refusal.facts)

    async def _catalogue_for(self, target: object) -> FunctionCatalogue | None:
        """Load the function catalogue from the store, only for a name that this app does not declare."""
        is_local = not isinstance(target, str) or target in self._declared
        return None if is_local else await self.service.functions.load(fresh=True)

    def _registrations(self) -> list[Registration]:
        """Return the record of each function of this app, as stored for other processes."""
        now = self.clock.now()
        registrations = []
        for name, declared in self._declared.items():
            function, declaration = self.registry.find(name), declared.declaration
            if function is not None:
                defaults = Defaults(declaration.zone, declaration.lane, declaration.labels, declaration.options)
                registrations.append(Registration(name, declared.module, signature_of(function.binding), defaults, now))
        return registrations

    def _external_request(
        self,
        target: Mapping[str, Any],
        when: When,
        payload: Mapping[str, Any] | None,
        options: Options | None,
        owner: str | None,
    ) -> TaskRequest:
        """Build the request for a target in wire format: any target that is not a function of this app."""
        from ..wire.tasks.targets import read_target  # noqa: PLC0415 - tasks of local functions do not need it

        read = read_target({"target": target} if "kind" in target else target)
        text = "{}" if payload is None else encode_arguments(payload)
        return TaskRequest(read.kind, when, read, text, owner, options=Options() if options is None else options)

    def _declared_request(self, declared: TaskFunction[Any, Any]) -> TaskRequest:
        declaration = declared.declaration
        when = declaration.when
        if when is None:
            raise refuse("bad_when", value=None)
        return self._make_request(declared, when, None, None)._replace(key=CODE_KEY_PREFIX + declaration.name)


_TARGETS: Final[dict[str, TargetSpec]] = {}


def _target_for(name: str) -> TargetSpec:
    """Return the target of a function, cached by name."""
    target = _TARGETS.get(name)
    if target is None:
        target = _TARGETS[name] = TargetSpec("function", function_spec(name))
    return target


def _difference(before: Declaration, after: Declaration) -> str:
    changed = [name for name in Declaration._fields if getattr(before, name) != getattr(after, name)]
    return "; ".join(f"{name}: {getattr(before, name)} -> {getattr(after, name)}" for name in changed)


def _item_parts(item: Any) -> tuple[Any, Any, Any]:
    """Unpack (target, when) or (target, when, payload)."""
    if not isinstance(item, tuple | list) or not 2 <= len(item) <= 3:
        raise refuse("bad_item", value=repr(item))
    return item[0], item[1], item[2] if len(item) == 3 else None


def _run_states(state: RunState | str | Iterable[RunState | str] | None) -> frozenset[RunState] | None:
    if state is None:
        return None
    states = [state] if isinstance(state, str) else list(state)
    try:
        return frozenset(RunState(each) for each in states)
    except ValueError:
        raise refuse("bad_choice", name="state", value=states, allowed=", ".join(RunState)) from None


def _task_states(state: TaskState | str | Iterable[TaskState | str] | None) -> frozenset[TaskState] | None:
    if state is None:
        return None
    states = [state] if isinstance(state, str) else list(state)
    try:
        return frozenset(TaskState(each) for each in states)
    except ValueError:
        raise refuse("bad_choice", name="state", value=states, allowed=", ".join(TaskState)) from None
