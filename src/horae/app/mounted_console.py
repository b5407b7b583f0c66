"""`horae.console`: the web console as an ASGI application, for any prefix of a Starlette or FastAPI application."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..clock import Clock, SystemClock
from ..errors import HoraeError
from ..model.refusals import refuse
from ..runtime.process_settings import load_settings
from ..service.service import Service
from ..settings import Settings, default_zone
from .lifespan import AppLifespan

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

Source: TypeAlias = "str | AppLifespan | Service"


def console(source: Source, *, zone: str | None = None) -> MountedConsole:
    """Return the web console as an ASGI application: `app.mount("/horae", horae.console("sqlite:///horae.db"))`.

    `source` is the URL of a store, or a `Horae` that is open while requests arrive. A store is opened by the first request,
    or by `lifespan`, and closed with it; without, when the event loop ends. `zone` is the zone of owners that have none; by
    default that of this process.
    """
    if not isinstance(source, str | AppLifespan | Service):
        raise refuse("bad_policy", name="source", value=source, wanted="store URL or Horae")
    return MountedConsole(source, default_zone(zone, os.environ).name)


class MountedConsole:
    """ASGI application that builds the console in the running event loop, and again for another loop or service."""

    def __init__(self, source: Source, zone: str) -> None:
        try:
            from ..web.middleware import RequestMiddleware  # noqa: PLC0415 - its library is an extra
        except ModuleNotFoundError as error:
            raise refuse("missing_part", library=error.name or "starlette", extra="console") from None
        self._source = source
        self._zone = zone
        self._opened: _OpenConsole | None = None
        self._middleware = RequestMiddleware(self._respond)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http":
            await self._middleware(scope, receive, send)
        else:
            await send({"type": "websocket.close"})

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """Open the console at the start of an application and close it at its end: `Starlette(lifespan=console.lifespan)`."""
        await self._open()
        try:
            yield
        finally:
            if self._opened is not None:
                await self._opened.close()

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import Request  # noqa: PLC0415 - an extra

        from ..web.problems import problem_response  # noqa: PLC0415

        try:
            app = await self._open()
        except HoraeError as error:
            await problem_response(Request(scope), error)(scope, receive, send)
            return
        await app(scope, receive, send)

    async def _open(self) -> ASGIApp:
        """Return the application of this event loop and service; opened by the first of several concurrent requests."""
        service = self._source.service if isinstance(self._source, AppLifespan) else None
        opened = self._opened
        if opened is None or not opened.serves(service):
            opened = self._opened = _OpenConsole(self._source, self._zone, service)
        return await opened.application()

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        """Open at the start and close at the end, where a server runs this application itself."""
        await receive()
        try:
            async with self.lifespan():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except HoraeError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.shutdown.complete"})


_HOLDERS: Final[set[asyncio.Task[None]]] = set()


class _OpenConsole:
    """The console of one event loop. A task holds it open: the end of the loop cancels the task, which closes the store."""

    def __init__(self, source: Source, zone: str, service: Service | None) -> None:
        self._source = source
        self._zone = zone
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._application: asyncio.Future[ASGIApp] = self._loop.create_future()
        self._holder = asyncio.ensure_future(self._hold())
        # An event loop has weak references to its tasks only: a console that is dropped stays open until the loop ends.
        _HOLDERS.add(self._holder)
        self._holder.add_done_callback(_HOLDERS.discard)

    def serves(self, service: Service | None) -> bool:
        return self._loop is asyncio.get_running_loop() and not self._holder.done() and self._service is service

    async def application(self) -> ASGIApp:
        return await asyncio.shield(self._application)

    async def close(self) -> None:
        self._holder.cancel()
        await asyncio.gather(self._holder, return_exceptions=True)

    async def _hold(self) -> None:
        from ..runtime.console_service import open_console  # noqa: PLC0415 - its libraries are extras

        try:
            settings = load_settings(os.environ)
            async with self._open_service(settings) as (service, clock), open_console(service, clock, settings) as app:
                self._application.set_result(app)
                await asyncio.Event().wait()
        except Exception as error:
            if self._application.done():
                raise
            self._application.set_exception(error)
        finally:
            with suppress(asyncio.InvalidStateError):
                self._application.cancel()

    @asynccontextmanager
    async def _open_service(self, settings: Settings) -> AsyncIterator[tuple[Service, Clock]]:
        from ..runtime.api_service import open_service  # noqa: PLC0415

        source: Any = self._source
        if isinstance(source, str):
            async with open_service(source, self._zone, settings) as opened:
                yield opened
        elif isinstance(source, Service):
            yield source, SystemClock()
        else:
            yield source.service, source.clock
