"""The HTTP API of a deployment, with all that goes on beside it: put together here, for a process of its own or within another."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ..clock import Clock, SystemClock
from ..errors import InvalidSchedule
from ..model.refusals import refuse
from ..observe.observer import Observer
from ..observe.scrape_settings import Looking
from ..schedule.durations import parse_duration
from ..service.events.background_work import read_watches, watch
from ..service.events.webhook_dispatcher import Courier
from ..service.events.webhook_signer import report_signer
from ..service.service import Service
from ..settings import Settings
from ..store_retry import keep_going
from .maintenance import Steward
from .observability import looking_of
from .plain_connection import warn_of_plain_connection
from .process_settings import chosen_wake
from .quota_enforcer import QuotaEnforcer
from .service_factory import callback_key, make_service
from .stores import make_store, make_wakeup
from .target_kinds import Kinds
from .wakeup import Ringing

if TYPE_CHECKING:
    from fastapi import FastAPI

_MOST_STREAMS: Final = 1_000_000
_LEAST_BODY_SECONDS: Final = 0.1
_MOST_BODY_SECONDS: Final = 50.0
"""Below the time after which the server closes the connection, answered or not."""


@asynccontextmanager
async def opened_service(
    url: str, zone: str, settings: Settings, observer: Observer | None = None
) -> AsyncIterator[tuple[Service, Clock]]:
    """The service on a store of our own; every write rings for the engines of other processes."""
    clock = SystemClock()
    ring = make_wakeup(url, precise=chosen_wake(settings, os.environ))
    store = make_store(url) if observer is None else observer.store(make_store(url))

    ringing = Ringing(ring.ring)

    def told(_due: datetime | None) -> None:
        ringing.told()

    try:
        await store.open()
        warn_of_plain_connection(url)
        yield make_service(url, store, clock, zone, Kinds(settings), told), clock
    finally:
        ringing.close()
        await ring.finish()
        await store.close()


@asynccontextmanager
async def api_of(
    service: Service, clock: Clock, settings: Settings, *, engine: bool, looking: Looking | None = None
) -> AsyncIterator[FastAPI]:
    """The application; while it is open, webhooks are told, what is overdue is told of, and the audit trail is sealed. At the
    end, operations that go on in the background stop in good order."""
    from ..api.app import make_app  # noqa: PLC0415 - its libraries are extras
    from ..web.request_context import WebSettings  # noqa: PLC0415

    chosen = WebSettings(
        secret=await callback_key(service.store),
        engine=engine,
        callbacks=bool(settings.value("targets.http.callback_url")),
        body_seconds=_chosen_body_seconds(settings),
        streams=_chosen_streams(settings),
        origins=tuple(settings.value("origins")),
        orchestrator=settings.value("orchestrator_url"),
    )
    looking = looking or looking_of(Observer("api", clock), settings)
    app = make_app(service, clock, chosen, looking=looking)
    await report_signer(service.store, can_sign=service.webhooks.postman.can_sign)
    courier = Courier(service.store, service.webhooks.postman, service.telling, clock)
    courier.on_attempt = looking.observer.told_webhook
    beside = [
        asyncio.ensure_future(watch(service, clock, read_watches(settings), courier)),
        asyncio.ensure_future(keep_going("steward", Steward(service, clock).run, clock)),
        asyncio.ensure_future(keep_going("quota enforcer", QuotaEnforcer(service, clock).run, clock)),
    ]
    try:
        async with _mcp(app, service, clock):
            yield app
    finally:
        await service.operations.close()
        for each in beside:
            each.cancel()
        await asyncio.gather(*beside, return_exceptions=True)


@asynccontextmanager
async def _mcp(app: FastAPI, service: Service, clock: Clock) -> AsyncIterator[None]:
    """The door for assistants, where its library is installed."""
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
    """The one error within nested groups; the group itself where there are several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _chosen_streams(settings: Settings) -> int:
    said = str(settings.value("event_streams")).strip()
    if not said.isdecimal() or not 1 <= int(said[:9]) <= _MOST_STREAMS:
        raise refuse("bad_number", name="event_streams", value=said, least=1, most=_MOST_STREAMS)
    return int(said)


def _chosen_body_seconds(settings: Settings) -> float:
    said = str(settings.value("body_timeout")).strip().lower()
    try:
        seconds = parse_duration(f"{said}s" if said.isdecimal() else said).total_seconds()
    except InvalidSchedule:
        seconds = 0.0
    if not _LEAST_BODY_SECONDS <= seconds <= _MOST_BODY_SECONDS:
        raise refuse("bad_duration", name="body_timeout", value=said, least="100ms", most="50s")
    return seconds
