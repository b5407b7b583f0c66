"""The ASGI application: Starlette with its router and the middleware that it is given, and nothing else."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Router
from starlette.types import ASGIApp

from .request_context import AppContext


class Application(Starlette):
    """Starlette adds two layers that turn exceptions into responses; here routes and `RequestMiddleware` do that, so both
    are left out: they would cost a twentieth of the time of a get."""

    def __init__(self, router: Router, context: AppContext, middleware: list[Middleware]) -> None:
        super().__init__(middleware=middleware)
        self.router = router
        self.context = context
        self.console_path: str | None = None
        """Where the console is mounted; None: its library is not installed."""

    async def close_streams(self) -> None:
        """End the event streams, which would never end by themselves."""
        await self.context.tail.close()

    def build_middleware_stack(self) -> ASGIApp:
        stack: ASGIApp = self.router
        for layer in reversed(self.user_middleware):
            stack = layer.cls(stack, *layer.args, **layer.kwargs)
        return stack


def console_path(request: Request) -> str | None:
    """Return the path of the console of the application that serves this request; None if it has none."""
    path: str | None = request.scope["app"].console_path
    return path
