"""Lifespan of an app: opens the store, registers declared functions, starts the engine, and stops them in reverse order."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from ..clock import Clock, SystemClock
from ..engine.engine import Engine
from ..engine.process_identity import is_gone
from ..engine.settings import EngineSettings
from ..errors import Conflict, Refusal
from ..model.accounts.principal import LOCAL_OWNER, Principal
from ..model.accounts.system_owner import is_system_owner
from ..model.gate import GateLimit
from ..model.lanes.node_labels import LabelPairs, check_node_name, default_node_name, parse_node_labels, with_node_name
from ..model.lanes.route import function_route, kind_route
from ..model.messages import StreamQuota, stream_quota_of
from ..model.refusals import refuse
from ..model.task import Task
from ..ports.full_store import FullStore, Wakeup
from ..ports.target import RunService, Target
from ..runtime import DEFAULT_STORE, NoNotifier, make_store, make_wakeup
from ..runtime.durability import reads_require_durable, require_durable_store, warn_about_possible_loss
from ..runtime.node_policy import merge_policy, store_policy
from ..runtime.plain_connection import warn_about_plain_connection
from ..runtime.plan_layout import follow_plan_layout
from ..runtime.process_settings import (
    load_settings,
    read_clock_tolerance,
    read_message_rules,
    read_run_log_bytes,
    read_wake_mode,
)
from ..runtime.service_factory import gate_limit_of_run, make_service, open_targets, principal_of_run
from ..runtime.store_status import check_server_features
from ..runtime.stores import default_poll_interval
from ..runtime.target_kinds import FUNCTION, TargetKinds
from ..schedule.zones import find_zone
from ..service.accounts.refusals import refuse as refuse_account
from ..service.events.listeners import ListenerAnnouncer, ListenerKind, Via
from ..service.service import Service
from ..service.tasks.functions.records import Registration
from ..settings import Settings, default_zone, read_settings
from ..store_retry import TRANSIENT_ERRORS
from ..targets.function.origin import is_loading
from ..targets.function.registry import Registry
from ..targets.function.target import FunctionTarget
from ..version import __version__
from .declared_function import TaskFunction
from .environment import AppEnvironment, EngineCompanion
from .garbage_collection import interpreter_tuning
from .listeners import Handler, Listeners
from .suggestions import APP_OPTIONS, suggest_keywords
from .wait import RunWaiters

if TYPE_CHECKING:
    from ..observe.observer import Observer

LOG: Final = logging.getLogger("horae")
_STOP_NOTE_SECONDS: Final = 5.0
_EVENT_CHANNELS: Final[tuple[Via, ...]] = ("redis", "webhook")
"""Settings of event targets that name an external channel."""


_NOT_CHOSEN: Final = frozenset({"agents_disabled", "stations_disabled"})
"""Refusals of targets that a node does not run unless the operator wants it: nothing to warn about."""


class AppLifespan:
    """Opens and closes an app by reference count: the first `async with` opens it, the end of the last one closes it."""

    @suggest_keywords(APP_OPTIONS)
    def __init__(  # noqa: PLR0913 - one argument for each choice of a deployment
        self,
        store: str | None = None,
        *,
        zone: str | None = None,
        owner: str = LOCAL_OWNER,
        engine: bool = True,
        settings: EngineSettings | None = None,
        clock: Clock | None = None,
        targets: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.url = store or os.environ.get("HORAE_STORE") or DEFAULT_STORE
        if is_system_owner(owner):
            raise refuse_account("reserved_owner", owner=owner)
        self.who = Principal(owner, admin=True)
        if zone is not None and not zone.strip():
            find_zone(zone)  # refuses it
        self.zone = default_zone(zone, os.environ).name
        self.clock: Clock = SystemClock() if clock is None else clock
        engine_settings = EngineSettings() if settings is None else settings
        precise = read_wake_mode(read_settings(os.environ), os.environ)
        self.settings = engine_settings if precise else replace(engine_settings, precise=False)
        self.registry = Registry()
        self._target_settings = {} if targets is None else dict(targets)
        self._with_engine = engine
        self._declared: dict[str, TaskFunction[Any, Any]] = {}
        self._store: FullStore | None = None
        self._service: Service | None = None
        self._kinds: TargetKinds | None = None
        self._engine: Engine | None = None
        self._announcer: ListenerAnnouncer | None = None
        self.is_stop_requested = True
        """False: the process that supervises this one was killed, and that ends the engine."""
        self.on_engine_start: Callable[[], None] = lambda: None
        """Callback: the node has joined, and has not run a task yet."""
        self._announced_node: str | None = None
        """The node whose functions are announced in the store."""
        self._function_target: FunctionTarget | None = None
        self._targets: dict[str, Any] = {}
        self._routes: tuple[int, frozenset[str]] = (-1, frozenset())
        self._warned_kinds: set[str] = set()
        self._wakeup = make_wakeup(self.url, precise=self.settings.precise, clock=self.clock)
        self._waiters = RunWaiters()
        self._listeners = Listeners(lambda: self.store, self.clock)
        self._environment: AppEnvironment | None = None
        self._real_environment: tuple[Clock, EngineSettings, Listeners, Wakeup] | None = None
        self._observer: Observer | None = None
        self._companion: EngineCompanion | None = None
        self._layout_job: asyncio.Task[None] | None = None
        self._open_count = 0

    def configure(self, *, store: str | None = None, engine: bool | None = None) -> None:
        """Override the store, and whether an engine runs, before the app is opened: the operator's choice over the code's."""
        if self._store is not None:
            raise refuse("already_open")
        if store is not None:
            self.url = store
            self._wakeup = make_wakeup(store, precise=self.settings.precise, clock=self.clock)
        self._with_engine = self._with_engine if engine is None else engine

    @property
    def store(self) -> FullStore:
        if self._store is None:
            raise refuse("not_open")
        return self._store

    @property
    def service(self) -> Service:
        """The use cases that every front end calls; each call takes a principal."""
        if self._service is None:
            raise refuse("not_open")
        return self._service

    @property
    def engine(self) -> Engine | None:
        return self._engine

    @property
    def is_open(self) -> bool:
        return self._open_count > 0

    def use_environment(self, environment: AppEnvironment | None) -> None:
        """Use a virtual environment (clock, store, settings) for tests and simulation; None restores the real one.

        Refused while the app is open.
        """
        if self._store is not None:
            raise refuse("already_open")
        if self._real_environment is not None:
            self.clock, self.settings, self._listeners, self._wakeup = self._real_environment
        self._environment, self._real_environment = environment, None
        if environment is None:
            return
        self._real_environment = self.clock, self.settings, self._listeners, self._wakeup
        self.clock = environment.clock
        self.settings = environment.settings(self.settings)
        self._listeners = self._listeners.with_clock(self.clock)
        self._wakeup = NoNotifier()

    def observe(self, observer: Observer) -> None:
        """Install an observer of each store call and each run; refused while the app is open."""
        if self._store is not None:
            raise refuse("already_open")
        self._observer = observer

    def accompany(self, companion: EngineCompanion, targets: Mapping[str, Mapping[str, Any]]) -> None:
        """Start this part with the engine, and stop it after it; `targets` are further settings of targets.

        Refused while the app is open.
        """
        if self._store is not None:
            raise refuse("already_open")
        self._companion = companion
        self.configure_targets(targets)

    def configure_targets(self, targets: Mapping[str, Mapping[str, Any]]) -> None:
        """Add settings of targets before the app is opened."""
        if self._store is not None:
            raise refuse("already_open")
        for kind, settings in targets.items():
            self._target_settings[kind] = {**self._target_settings.get(kind, {}), **settings}

    # --- opening and closing ---------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Open the app, or count one more user of the open app: the last to leave closes it."""
        self._open_count += 1
        if self._open_count == 1:
            try:
                await self._open()
            except BaseException:
                await self.__aexit__(None, None, None)
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_count = max(0, self._open_count - 1)
        if self._open_count == 0:
            try:
                await self.end()
            finally:
                await self._close()

    async def _open(self) -> None:
        if is_loading():
            raise refuse("being_loaded")
        flags = {
            f"targets.{kind}.{name}": v for kind, part in self._target_settings.items() for name, v in part.items()
        }
        settings = load_settings(os.environ, flags=flags)
        self._apply_wake_setting(settings)
        self._apply_clock_tolerance(settings)
        self._apply_run_log_bytes(settings)
        self._apply_labels(settings)
        self._apply_message_rules(settings)
        outer = self._environment
        if outer is None and self._with_engine and (self.settings.require_durable or reads_require_durable(settings)):
            await require_durable_store(self.url, self.clock)
        if outer is None and self._with_engine:
            await check_server_features(self.url, self.clock)
        store = make_store(self.url if outer is None else outer.store_url(self.url), self.clock)
        if outer is not None:
            store = outer.store(store)
        if self._observer is not None:
            store = self._observer.store(store, self.settings.terms)
        try:
            await store.open()
            if outer is not None:
                await outer.opened(store)
        except BaseException:
            await store.close()
            raise
        self._store = store
        self._kinds = TargetKinds(settings if self._with_engine else await merge_policy(store, settings))
        key_url = self.url if outer is None else outer.key_url(self.url)
        self._service = make_service(key_url, store, self.clock, self.zone, self._kinds, self._on_write)
        interpreter_tuning.acquire()
        await self.begin()

    def _apply_wake_setting(self, settings: Settings) -> None:
        """Apply the wake mode of the settings file, which is read only on opening; a virtual environment keeps its own."""
        if not read_wake_mode(settings, os.environ) and self._environment is None and self.settings.precise:
            self.settings = replace(self.settings, precise=False)
            self._wakeup = make_wakeup(self.url, precise=False, clock=self.clock)
        if self.settings.precise and self.settings.poll_interval is None and self._environment is None:
            self.settings = replace(self.settings, poll_interval=default_poll_interval(self.url))

    def _apply_clock_tolerance(self, settings: Settings) -> None:
        """Apply the clock tolerance of the file or environment, unless the code chose one."""
        tolerance = read_clock_tolerance(settings)
        if tolerance is not None and self.settings.clock_tolerance == EngineSettings().clock_tolerance:
            self.settings = replace(self.settings, clock_tolerance=tolerance)

    def _apply_labels(self, settings: Settings) -> None:
        """Apply name and labels of the node from the file or environment, unless the code or the command line chose some."""
        if not self.settings.labels:
            self.settings = replace(self.settings, labels=parse_node_labels(settings.value("node_labels")))
        name = settings.value("node_name")
        if self.settings.node_name is None and name is not None:
            self.settings = replace(self.settings, node_name=check_node_name(str(name)))

    def _apply_run_log_bytes(self, settings: Settings) -> None:
        """Apply the bound of run logs of the file or environment, unless the code chose one."""
        run_log_bytes = read_run_log_bytes(settings)
        if run_log_bytes is not None and self.settings.run_log_bytes == EngineSettings().run_log_bytes:
            self.settings = replace(self.settings, run_log_bytes=run_log_bytes)

    def _apply_message_rules(self, settings: Settings) -> None:
        """Apply the retention of messages of the file or environment, unless the code chose one."""
        rules = read_message_rules(settings)
        if rules is not None and self.settings.keep_messages == EngineSettings().keep_messages:
            self.settings = replace(self.settings, keep_messages=rules)

    async def _close(self) -> None:
        store, self._store, self._service = self._store, None, None
        self._waiters.notify_all()
        await self._wakeup.finish()
        if store is not None:
            interpreter_tuning.release()
            await store.close()

    # --- the engine ------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Register the declared functions and tasks, then start the engine."""
        await self._declare_all()
        await self._listeners.start()
        if not self._with_engine:
            return
        if self._environment is None:
            warn_about_plain_connection(self.url)
            await warn_about_possible_loss(self.url, self.clock)
            await self.service.outages.record_start(is_gone, self.settings.terms.lease)
            if self._kinds is not None:
                await store_policy(self.store, self._kinds.settings)
        self._function_target = FunctionTarget(self.registry, make_service=self._run_service)
        targets = await self._open_targets(self._function_target)
        if self._companion is not None:
            await self._companion.connect(self.service, self._targets)
        self._engine = self._make_engine(targets)
        self._engine.on_settled = self._on_settled
        self._engine.on_linked = self._wakeup.notify
        self._engine.runner.on_commit = self._on_committed
        self._engine.dispatcher.on_unroutable = self._on_stranded
        # Announced before the first run: a task may end its process right away.
        self._engine.on_joined = partial(self._announce, self._engine)
        await self._engine.start()
        self.on_engine_start()
        self._wakeup.listen(self._on_wakeup)
        if self._environment is None and self._kinds is not None:
            settings = self._kinds.settings
            wake = partial(self._on_write, None)
            self._layout_job = follow_plan_layout(self.service, self.clock, self.who, settings, wake)
        if self._companion is not None:
            self._companion.start()

    def _is_gone(self, home: str) -> bool:
        return is_gone(home) if self._environment is None else self._environment.is_gone(home)

    def _run_service(self, task: Task) -> RunService:
        """Return the service that acts as the principal of a task's runs; `Horae` implements it."""
        raise NotImplementedError

    async def _declare_all(self) -> None:
        """Create or edit the declared tasks; `Horae` implements it."""

    def _registrations(self) -> list[Registration]:
        """Return the record of each function of this app; `Horae` implements it."""
        return []

    def _listen(self, pattern: str, handler: Handler, shows: Callable[[Mapping[str, Any]], bool]) -> None:
        """Register a handler like `on`; `shows` tells for which events it counts as a listener."""
        self._listeners.add(pattern, handler, None, shows)

    async def _announce_listeners(self) -> None:
        """Announce in the store which events this process receives: other processes then know whether an event is received."""
        audiences = [ListenerKind("process", pattern=pattern) for pattern in self._listeners.patterns()]
        if self._kinds is not None:
            settings = self._kinds.settings_of("event")
            audiences += [ListenerKind(via) for via in _EVENT_CHANNELS if settings.get(via)]
        if audiences and self._environment is None:
            self._announcer = self.service.listeners.announcer()
            for audience in audiences:
                await self._announcer.join(audience)

    async def _announce(self, engine: Engine) -> None:
        await self._announce_listeners()
        if registrations := self._registrations():
            await self.service.functions.announce(engine.node, engine.home, registrations)
            self._announced_node = engine.node

    async def _withdraw(self) -> None:
        announcer, self._announcer = self._announcer, None
        if announcer is not None:
            await announcer.close()
        node, self._announced_node = self._announced_node, None
        if node is not None:
            # An unavailable store must not keep the process from ending; announcements of dead nodes are ignored.
            with suppress(*TRANSIENT_ERRORS):
                await self.service.functions.withdraw(node)

    async def _open_targets(self, functions: FunctionTarget) -> dict[str, Target]:
        if self._kinds is None:
            raise refuse("not_open")
        outer = self._environment
        self._targets = await open_targets(self.service, self.clock, self._kinds, self._listeners.publish, self.url)
        self._targets[FUNCTION] = functions if outer is None else outer.functions(functions)
        usable = {name: target for name, target in self._targets.items() if not isinstance(target, Refusal)}
        if self._observer is None:
            return usable
        return {name: self._observer.target(target) for name, target in usable.items()}

    def _make_engine(self, targets: dict[str, Target]) -> Engine:
        outer = self._environment
        if outer is None:
            return Engine(
                self.store,
                targets,
                self.clock,
                self.settings,
                version=__version__,
                routes=self._supported_routes,
                labels=self._node_labels(),
                permit=self.service.fire_rights.check,
                stream_quota=self._stream_quota,
                gate_limit=self._gate_limit,
            )
        return Engine(
            self.store,
            targets,
            self.clock,
            self.settings,
            version=__version__,
            home=outer.home(),
            is_gone=outer.is_gone,
            routes=self._supported_routes,
            permit=self.service.fire_rights.check,
            stream_quota=self._stream_quota,
            gate_limit=self._gate_limit,
        )

    async def _stream_quota(self, task: Task) -> StreamQuota:
        """Return the limits of the streams of a task's owner."""
        return stream_quota_of((await principal_of_run(self.service, task)).quotas)

    async def _gate_limit(self, task: Task) -> GateLimit:
        """Return how much a gate of a task's owner, or of its agent, may answer."""
        return await gate_limit_of_run(self.service, task)

    def _node_labels(self) -> LabelPairs:
        """Return the labels of this node: those of the settings, and its name."""
        name = self.settings.node_name or default_node_name(platform.node())
        return with_node_name(self.settings.labels, name)

    def _supported_routes(self) -> frozenset[str]:
        """Return the routes that this node can run; read at every claim, rebuilt when a function was added."""
        size, routes = self._routes
        names = self.registry.size
        if size != names:
            functions = {function_route(name) for name in self.registry.names()}
            kinds = {kind_route(name) for name, each in self._targets.items() if not isinstance(each, Refusal)}
            routes = frozenset(functions | kinds)
            self._routes = names, routes
        return routes

    def crash(self) -> None:
        """Stop as if the process had died: no run is settled or handed back. `begin` then starts a new node."""
        if self._engine is not None:
            self._engine.kill()
            self._engine = None
        self._listeners.stop()
        self._end_functions()

    async def until_drained(self) -> None:
        """Wait until an operator has drained this node and no run is active; without an engine, wait for ever."""
        await (asyncio.Event() if self._engine is None else self._engine.drained).wait()

    async def end(self) -> None:
        """Stop the engine and leave the store open; safe to call twice."""
        self._wakeup.close()
        layout_job, self._layout_job = self._layout_job, None
        if layout_job is not None:
            layout_job.cancel()
            await asyncio.gather(layout_job, return_exceptions=True)
        try:
            if self._engine is not None:
                await self._engine.stop()
                await self._withdraw()
                if self._environment is None:
                    await self._note_stop()
        finally:
            self._engine = None
            if self._companion is not None:
                await self._companion.stop()
            await self._listeners.finish()
            self._end_functions()
            await self._close_targets()

    async def _note_stop(self) -> None:
        """Record when this node stopped; if the store fails, the next start derives it from the last lease renewal."""
        try:
            async with asyncio.timeout(_STOP_NOTE_SECONDS):
                await self.service.outages.record_stop(requested=self.is_stop_requested)
        except TRANSIENT_ERRORS as error:
            LOG.warning("the time of this stop could not be recorded: %s", str(error) or repr(error))

    async def _close_targets(self) -> None:
        opened, self._targets = self._targets, {}
        self._routes = (-1, frozenset())
        for target in opened.values():
            if not isinstance(target, Refusal) and hasattr(target, "aclose"):
                await target.aclose()

    def _end_functions(self) -> None:
        functions, self._function_target = self._function_target, None
        if functions is not None:
            functions.close()

    # --- callbacks -------------------------------------------------------------------------------------------------

    def _on_write(self, due: datetime | None) -> None:
        """Callback: the service committed a write. Wakes listeners, this engine, and the other processes.

        `due` is when the written entry comes due; None for any other change.
        """
        self._listeners.wake()
        if due is None:
            self._waiters.notify_all()
        if self._engine is not None:
            if due is None:
                self._engine.notify()
            else:
                self._engine.wake_timer.expect(due)
        self._wakeup.notify()
        if self._companion is not None:
            self._companion.wake()

    def _on_wakeup(self) -> None:
        """Callback: another process has written something."""
        if self._engine is not None:
            self._engine.notify()
        if self._companion is not None:
            self._companion.wake()

    def _on_committed(self) -> None:
        """Callback: a run that goes on has committed messages or records."""
        self._listeners.wake()
        if self._companion is not None:
            self._companion.wake()

    def _on_settled(self, tasks: Any) -> None:
        self._waiters.notify_ended(tasks)
        self._listeners.wake()
        if self._companion is not None:
            self._companion.wake()

    def _on_stranded(self) -> None:
        """Callback: a due entry has no matching target on this node. Warns once per kind and wakes other nodes."""
        for kind, target in self._targets.items():
            if isinstance(target, Refusal) and target.code not in _NOT_CHOSEN and kind not in self._warned_kinds:
                self._warned_kinds.add(kind)
                LOG.warning("this node runs no %s targets: %s", kind, target)
        self._wakeup.notify()

    async def _upsert_declared(self, name: str, request: Any) -> None:
        """Create or edit one declared task, and resume it if it was paused because its code was missing."""
        try:
            await self.service.tasks.declare(self.who, request)
            await self.service.declared_tasks.restore(self.who, name)
        except Conflict as conflict:
            # A cancelled task stays cancelled, although the code still declares it.
            LOG.warning("the declared task %s stays as it is: %s", name, conflict)
