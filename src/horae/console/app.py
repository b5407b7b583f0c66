"""Application of the console: its routes, static files and session checks; it can be mounted under any prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from ..web.request_context import AppContext
from .application import ConsoleApplication
from .page import PageRoute, not_found_response, page, signed_in
from .pages import (
    activity,
    approvals,
    budgets,
    calendar,
    calendar_feed,
    chats,
    groups,
    lanes,
    now,
    oidc,
    plans,
    preferences,
    schedule_preview,
    script_requests,
    settings,
    sign_in,
    simple,
    simple_runs,
    streams,
    why,
)
from .pages.runs import log as run_log
from .pages.runs import run, runs
from .pages.tasks import actions as task_actions
from .pages.tasks import bulk as bulk_tasks
from .pages.tasks import edit as edit_task
from .pages.tasks import task, tasks
from .renderer import static_files, static_version

_PAGES: Final[tuple[PageRoute, ...]] = (
    *now.ROUTES,
    *script_requests.ROUTES,
    *preferences.ROUTES,
    *sign_in.ROUTES,
    *tasks.ROUTES,
    *bulk_tasks.ROUTES,
    *task_actions.ROUTES,
    *why.ROUTES,
    *runs.ROUTES,
    *run_log.ROUTES,
    *run.ROUTES,
    *lanes.ROUTES,
    *streams.ROUTES,
    *plans.ROUTES,
    *groups.ROUTES,
    *chats.ROUTES,
    *activity.ROUTES,
    *approvals.ROUTES,
    *budgets.ROUTES,
    *settings.ROUTES,
    *simple.ROUTES,
    *simple_runs.ROUTES,
    *edit_task.ROUTES,
    *schedule_preview.ROUTES,
    *calendar.ROUTES,
    *calendar_feed.ROUTES,
    # Last: its path has a parameter where others have a fixed name.
    *task.ROUTES,
)
_SIMPLE_PAGES: Final[tuple[PageRoute, ...]] = (
    page("/", simple.go_to_list),
    *simple.ROUTES,
    *simple_runs.ROUTES,
    *script_requests.ROUTES,
    *preferences.ROUTES,
    *sign_in.ROUTES,
)
"""Pages of the console for members of another system, who know only their tasks and runs."""
_MEDIA_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def make_console(context: AppContext, *, is_simple: bool = False) -> ConsoleApplication:
    """Build the console over a service; mount it where the request middleware has set a request id.

    `is_simple`: only the simple view, for members of a system that Horae replaces.
    """
    routes = list(_routes(_SIMPLE_PAGES if is_simple else _PAGES))
    if is_simple:
        routes.append(_ConsoleRoute("/client.js", _client))
    return ConsoleApplication(ConsoleRouter(routes, redirect_slashes=False), context, is_simple=is_simple)


class ConsoleRouter(Router):
    """Router that shows a page where a path is unknown, and names the route for the request metrics."""

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().app(scope, receive, send)
        except HTTPException as error:
            response = await not_found_response(Request(scope, receive), error.status_code)
            await response(scope, receive, send)


class _Template(NamedTuple):
    path: str


class _ConsoleRoute(Route):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = _Template(f"/console{self.path}")
        await super().handle(scope, receive, send)


def _routes(pages: tuple[PageRoute, ...]) -> Iterator[Route]:
    # Fixed paths first: `/tasks/{id}` would match `/tasks/new`.
    for method, path, handler in sorted(pages, key=lambda route: "{" in route.path):
        yield _ConsoleRoute(path, signed_in(handler, sign_in.require_sign_in), methods=[method])
    yield _ConsoleRoute("/sign-in", sign_in.show_sign_in)
    yield _ConsoleRoute("/sign-in", sign_in.sign_in, methods=["POST"])
    yield _ConsoleRoute(calendar_feed.FEED_PATH, calendar_feed.serve)
    yield _ConsoleRoute(oidc.START_PATH, oidc.start)
    yield _ConsoleRoute(oidc.CALLBACK_PATH, oidc.finish)
    yield _ConsoleRoute("/static/{version}/{name}", _static)


async def _client(_request: Request) -> Response:
    """Respond with the browser client of `/scheduled-tasks`, which pages of every origin may import."""
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*"}
    return Response(static_files()["scheduled_tasks.js"], media_type=_MEDIA_TYPES["js"], headers=headers)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None or request.path_params["version"] != static_version():
        raise HTTPException(404)
    return Response(content, media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers=_FOR_EVER)
