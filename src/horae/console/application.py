"""The ASGI application of the console: all of its pages, or those of the simple view only."""

from __future__ import annotations

from starlette.requests import Request
from starlette.routing import Router

from ..web.application import Application
from ..web.request_context import AppContext
from .batches import Batches


class ConsoleApplication(Application):
    def __init__(self, router: Router, context: AppContext, *, is_simple: bool = False) -> None:
        super().__init__(router, context, [])
        self.is_simple = is_simple
        self.batches = Batches(context.clock)
        """Fragments that many open pages fetch at the same time."""


def has_simple_view_only(request: Request) -> bool:
    application = request.scope["app"]
    return isinstance(application, ConsoleApplication) and application.is_simple
