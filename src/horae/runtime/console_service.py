"""Composes the console as an application of its own, for mounting into other applications: streams and audit sealing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ..clock import Clock
from ..model.refusals import refuse
from ..observe.observer import Observer
from ..service.service import Service
from ..settings import Settings
from ..store_retry import restart_on_error
from .api_service import AuditSealer, has_console_libraries
from .external_sign_in import open_external_sign_in
from .observability import make_observability

if TYPE_CHECKING:
    from ..web.middleware import Application

_STREAM_SECONDS: Final = 20.0
"""Other servers wait for open responses when they stop; browsers reopen a stream that has ended."""


@asynccontextmanager
async def open_console(service: Service, clock: Clock, settings: Settings) -> AsyncIterator[Application]:
    """Build the console over a service, and run its background work while the block runs."""
    if not has_console_libraries():
        raise refuse("missing_part", library="jinja2", extra="console")
    from ..console.app import make_console  # noqa: PLC0415 - its library is an extra
    from ..web.event_streams import EventStreams  # noqa: PLC0415
    from ..web.rate_limit import RateLimits  # noqa: PLC0415
    from ..web.request_context import AppContext, WebSettings  # noqa: PLC0415
    from .deployment_examiner import watch_writes  # noqa: PLC0415 - loaded now: the first report delays no request

    streams = EventStreams(service, clock, max_seconds=_STREAM_SECONDS)
    observability = make_observability(Observer("api", clock), settings)
    watch_writes(service, observability.observer)
    sealer = asyncio.ensure_future(restart_on_error("steward", AuditSealer(service, clock).run, clock))
    try:
        async with open_external_sign_in(settings, service, clock) as external:
            limits, own = RateLimits(clock), WebSettings(makes_links=False)
            yield make_console(AppContext(service, clock, own, limits, streams, observability, external))
    finally:
        sealer.cancel()
        await asyncio.gather(sealer, return_exceptions=True)
        await streams.close()
        await service.doctor.close()
