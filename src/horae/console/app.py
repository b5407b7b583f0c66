"""Application of the console: its routes, static files and session checks; it can be mounted under any prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from ..web.application import Application
from ..web.request_context import AppContext
from .page import PageRoute, anonymous_viewer, signed_in
from .pages import bulk_tasks, live, now, preferences, sign_in, task, task_actions, tasks, why
from .rendering import page_response, static_files, static_version

_PAGES: Final[tuple[PageRoute, ...]] = (
    *now.ROUTES,
    *live.ROUTES,
    *preferences.ROUTES,
    *sign_in.ROUTES,
    *tasks.ROUTES,
    *bulk_tasks.ROUTES,
    *task_actions.ROUTES,
    *why.ROUTES,
    *task.ROUTES,
)
_MEDIA_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def make_console(context: AppContext) -> Application:
    """Build the console over a service; mount it where the request middleware has set a request id."""
    return Application(ConsoleRouter(list(_routes()), redirect_slashes=False), context, [])


class ConsoleRouter(Router):
    """Router that shows a page where a path is unknown, and names the route for the request metrics."""

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().app(scope, receive, send)
        except HTTPException as error:
            request = Request(scope)
            response = page_response(request, anonymous_viewer(request), "not_found.html", {}, error.status_code)
            await response(scope, receive, send)


class _Template(NamedTuple):
    path: str


class _ConsoleRoute(Route):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = _Template(f"/console{self.path}")
        await super().handle(scope, receive, send)


def _routes() -> Iterator[Route]:
    # Fixed paths first: `/tasks/{id}` would match `/tasks/new`.
    for method, path, handler in sorted(_PAGES, key=lambda route: "{" in route.path):
        yield _ConsoleRoute(path, signed_in(handler, sign_in.require_sign_in), methods=[method])
    yield _ConsoleRoute("/sign-in", sign_in.show_sign_in)
    yield _ConsoleRoute("/sign-in", sign_in.sign_in, methods=["POST"])
    yield _ConsoleRoute("/static/{version}/{name}", _static)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None or request.path_params["version"] != static_version():
        raise HTTPException(404)
    return Response(content, media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers=_FOR_EVER)
