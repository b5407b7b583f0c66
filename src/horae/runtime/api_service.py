"""Composes the HTTP API with its background loops (webhook dispatch, overdue checks, audit sealing, quotas) and MCP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ..clock import Clock, SystemClock
from ..errors import InvalidSchedule
from ..model.refusals import refuse
from ..observe.metrics_server import Observability
from ..observe.observer import Observer
from ..schedule.durations import parse_duration
from ..service.events.background_work import read_watch_settings, run_background_work
from ..service.events.webhook_dispatcher import WebhookDispatcher, report_signer
from ..service.service import Service
from ..settings import Settings
from ..store_retry import StoreRetry, repeat_with_backoff, restart_on_error
from ..wire.accounts import CONSOLE_PATH as CONSOLE_PATH  # noqa: PLC0414 - callers find it where the console is mounted
from .external_sign_in import open_external_sign_in
from .observability import make_observability
from .plain_connection import warn_about_plain_connection
from .process_settings import read_wake_mode
from .service_factory import callback_key, make_service
from .stores import make_store, make_wakeup
from .target_kinds import TargetKinds

if TYPE_CHECKING:
    from ..web.middleware import Application

NOTIFY_INTERVAL: Final = 0.005
"""Seconds. Each notification makes every engine poll; with hundreds of writes a second, one poll covers many."""
_SEAL_INTERVAL: Final = 0.5
"""Seconds. Audit rows of this process are sealed within one second."""
_IDLE_SEAL_INTERVAL: Final = 5.0
"""Seconds. The store is asked for rows of other processes, which is a command for each time."""
_QUOTA_INTERVAL: Final = 60.0
SIMPLE_CONSOLE_PATH: Final = "/scheduled-tasks/console"
"""The simple view, beside the routes of the system whose users know it."""
_MAX_STREAMS: Final = 1_000_000
_MIN_BODY_SECONDS: Final = 0.1
_MAX_BODY_SECONDS: Final = 50.0
"""Below the time after which the server closes the connection without a response."""


@asynccontextmanager
async def open_service(
    url: str, zone: str, settings: Settings, observer: Observer | None = None
) -> AsyncIterator[tuple[Service, Clock]]:
    """Open a store and its service; every write notifies the engines of other processes."""
    clock = SystemClock()
    wakeup = make_wakeup(url, precise=read_wake_mode(settings, os.environ), clock=clock)
    store = make_store(url, clock) if observer is None else observer.store(make_store(url, clock))

    notifier = ThrottledNotifier(wakeup.notify)

    def on_write(_due: datetime | None) -> None:
        notifier.notify()

    try:
        await store.open()
        warn_about_plain_connection(url)
        yield make_service(url, store, clock, zone, TargetKinds(settings), on_write), clock
    finally:
        notifier.close()
        await wakeup.finish()
        await store.close()


@asynccontextmanager
async def open_api(
    service: Service, clock: Clock, settings: Settings, *, engine: bool, observability: Observability | None = None
) -> AsyncIterator[Application]:
    """Build the application and run its background loops while the block runs.

    The loops deliver webhooks, report overdue work, seal the audit trail and enforce quotas. On exit, background
    operations are stopped first.
    """
    from ..api.app import make_app  # noqa: PLC0415 - its libraries are extras
    from ..web.request_context import WebSettings  # noqa: PLC0415
    from ..web.trusted_proxies import read_trusted_proxies  # noqa: PLC0415
    from .deployment_examiner import watch_writes  # noqa: PLC0415 - loaded now: the first report delays no request

    web_settings = WebSettings(
        secret=await callback_key(service.store),
        expects_engine=engine,
        callbacks=bool(settings.value("targets.http.callback_url")),
        body_seconds=_body_seconds(settings),
        max_streams=_max_streams(settings),
        origins=tuple(settings.value("origins")),
        trusted_proxies=read_trusted_proxies(settings.value("trusted_proxies")),
        orchestrator=settings.value("orchestrator_url"),
    )
    observability = observability or make_observability(Observer("api", clock), settings)
    watch_writes(service, observability.observer)
    async with open_external_sign_in(settings, service, clock) as external:
        app = make_app(service, clock, web_settings, observability=observability, external_sign_in=external)
        mount_console(app)
        async with _background_work(app, settings, observability):
            yield app


@asynccontextmanager
async def _background_work(app: Application, settings: Settings, observability: Observability) -> AsyncIterator[None]:
    """Run the background loops and the MCP endpoint of an application while the block runs."""
    service, clock = app.context.service, app.context.clock
    await report_signer(service.store, can_sign=service.webhooks.client.can_sign)
    dispatcher = WebhookDispatcher(
        service.store, service.webhooks.client, service.event_encoder, clock, service.destinations.client
    )
    dispatcher.on_attempt = observability.observer.count_webhook_attempt
    loops = [
        asyncio.ensure_future(run_background_work(service, clock, read_watch_settings(settings), dispatcher)),
        asyncio.ensure_future(restart_on_error("steward", AuditSealer(service, clock).run, clock)),
        asyncio.ensure_future(restart_on_error("quota enforcer", QuotaEnforcer(service, clock).run, clock)),
    ]
    try:
        async with _mounted_mcp(app, service, clock):
            yield
    finally:
        await service.operations.close()
        await service.doctor.close()
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)


def has_console_libraries() -> bool:
    return find_spec("jinja2") is not None


def mount_console(app: Application) -> None:
    """Mount the console, where its library is installed."""
    if not has_console_libraries():
        return
    from starlette.responses import RedirectResponse  # noqa: PLC0415 - an extra
    from starlette.routing import Mount, Route  # noqa: PLC0415

    from ..console.app import make_console  # noqa: PLC0415

    async def add_slash(_request: object) -> RedirectResponse:
        return RedirectResponse(f"{CONSOLE_PATH}/", 307)

    app.router.routes.append(Route(CONSOLE_PATH, add_slash))
    app.router.routes.append(Mount(CONSOLE_PATH, make_console(app.context)))
    app.console_path = CONSOLE_PATH
    app.router.routes.append(Mount(SIMPLE_CONSOLE_PATH, make_console(app.context, is_simple=True)))


@asynccontextmanager
async def _mounted_mcp(app: Application, service: Service, clock: Clock) -> AsyncIterator[None]:
    """Mount the MCP endpoint, where its library is installed."""
    if find_spec("mcp") is None:
        yield
        return
    from ..mcp_server.http import mount  # noqa: PLC0415 - an extra

    try:
        async with mount(app, service, clock):
            yield
    except BaseExceptionGroup as group:
        # Its task group wraps what is raised here, for example a store error at the start.
        raise _only_error(group) from None


def _only_error(error: BaseException) -> BaseException:
    """Return the single error within nested groups; the group itself where it has several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _max_streams(settings: Settings) -> int:
    text = str(settings.value("event_streams")).strip()
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MAX_STREAMS:
        raise refuse("bad_number", name="event_streams", value=text, least=1, most=_MAX_STREAMS)
    return int(text)


def _body_seconds(settings: Settings) -> float:
    text = str(settings.value("body_timeout")).strip().lower()
    try:
        seconds = parse_duration(f"{text}s" if text.isdecimal() else text).total_seconds()
    except InvalidSchedule:
        seconds = 0.0
    if not _MIN_BODY_SECONDS <= seconds <= _MAX_BODY_SECONDS:
        raise refuse("bad_duration", name="body_timeout", value=text, least="100ms", most="50s")
    return seconds


class ThrottledNotifier:
    """Rate-limited notifier: writes during the pause are covered by one notification at its end, so none is lost."""

    def __init__(self, notify: Callable[[], None], interval: float = NOTIFY_INTERVAL) -> None:
        self._notify = notify
        self._interval = interval
        self._pause: asyncio.TimerHandle | None = None
        self._is_pending = False

    def notify(self) -> None:
        """Notify now, or at the end of the current pause."""
        if self._pause is not None:
            self._is_pending = True
            return
        self._notify()
        self._pause = asyncio.get_running_loop().call_later(self._interval, self._end_pause)

    def close(self) -> None:
        """Send a pending notification now."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._is_pending:
            self._is_pending = False
            self._notify()

    def _end_pause(self) -> None:
        self._pause = None
        if self._is_pending:
            self._is_pending = False
            self.notify()


class AuditSealer:
    """Background loop that seals the audit trail: often while there are new rows, else now and then."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._audit = service.audit
        self._clock = clock
        self._known_rows = 0
        self._is_busy_until = self._next_look = float("-inf")

    async def step(self) -> float:
        """Seal, if there may be rows; return the seconds until the next time."""
        now = self._clock.steady()
        if self._audit.rows_made != self._known_rows:
            # A row is made before the write that holds it, which may take longer than one interval.
            self._known_rows, self._is_busy_until = self._audit.rows_made, now + _IDLE_SEAL_INTERVAL
        if now < self._is_busy_until or now >= self._next_look:
            if await self._audit.seal():
                self._is_busy_until = now + _IDLE_SEAL_INTERVAL
            self._next_look = now + _IDLE_SEAL_INTERVAL
        return _SEAL_INTERVAL

    async def run(self) -> None:
        """Seal until cancelled; retry after store errors."""
        await repeat_with_backoff(self.step, StoreRetry("sealing of the audit trail", self._clock), self._clock)


class QuotaEnforcer:
    """Enforces quotas in a loop of its own: measuring the bytes of many owners must not delay the audit sealing."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self._service = service
        self._clock = clock

    async def step(self) -> float:
        """Enforce once; return the seconds until the next time."""
        await self._service.daily_quota.enforce(self._clock.now())
        return _QUOTA_INTERVAL

    async def run(self) -> None:
        """Enforce until cancelled; retry after store errors."""
        await repeat_with_backoff(self.step, StoreRetry("enforcement of quotas", self._clock), self._clock)
