"""HTTP server on the loopback that imitates a chat service: it can be cut off, and comes back on the same port."""

from __future__ import annotations

from typing import Any, Self

from aiohttp import web

from tests.servers.ports import HOST, ReservedPort


class LoopbackService:
    """`calls` are the requests so far: method and path, without secrets being hidden."""

    def __init__(self) -> None:
        self._port = ReservedPort()
        self._runner: web.AppRunner | None = None
        self.calls: list[str] = []
        self.first_answers: list[web.Response] = []
        """Answers to the next requests, before anything is checked."""

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port.number}"

    def routes(self) -> list[web.RouteDef]:
        raise NotImplementedError

    async def start(self) -> Self:
        application = web.Application(middlewares=[self._record], client_max_size=16 * 1024 * 1024)
        application.add_routes(self.routes())
        self._runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.01, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port.number, reuse_address=True).start()
        return self

    async def stop(self) -> None:
        """Cut every connection; new ones are refused."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def close(self) -> None:
        await self.stop()
        self._port.release()

    @web.middleware
    async def _record(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.calls.append(f"{request.method} {request.path}")
        if self.first_answers:
            return self.first_answers.pop(0)
        response: web.StreamResponse = await handler(request)
        return response
