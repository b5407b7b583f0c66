"""Exact-match router for hot routes; everything else falls through to the framework.

A request matches by its path, or by its path without the last segment, and only if its parameters bind without the
framework. The framework would route these requests to the same endpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import HoraeError
from .fast_parameters import Arguments
from .problems import handle_http_error, handle_refusal
from .routers import AuthenticatedRoute

_SAMPLE_SEGMENT: Final = "0"
"""Stands for any last path segment when routes are compared."""


class _FastRoute(NamedTuple):
    route: AuthenticatedRoute
    parameter: str | None
    """Name of the last path segment where that is a parameter."""


class FastRouter:
    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        # None: a fixed path that only the framework serves; its last segment must not be bound as a parameter.
        self._routes: dict[tuple[str, str], _FastRoute | None] = {
            (method, route.path): None
            for route in routes
            if isinstance(route, Route) and "{" not in route.path
            for method in route.methods or ()
        }
        for route in routes:
            if isinstance(route, AuthenticatedRoute) and route.direct_call is not None:
                self._add_route(route, routes)

    def _add_route(self, route: AuthenticatedRoute, routes: Sequence[BaseRoute]) -> None:
        """Register a route by its whole path, or by its path without a variable last segment. Routes with other
        variable segments stay with the framework."""
        head, _, last = route.path.rpartition("/")
        is_variable = last.startswith("{") and last.endswith("}") and ":" not in last
        if "{" in head or ("{" in last and not is_variable):
            return
        path = f"{head}/{_SAMPLE_SEGMENT}" if is_variable else route.path
        for method in route.methods or ():
            if _first_to_match(routes, method, path) is route:
                self._routes[method, f"{head}/" if is_variable else path] = _FastRoute(
                    route, last[1:-1] if is_variable else None
                )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._find_route(scope) if scope["type"] == "http" else None
        bound = None if route is None or route.direct_call is None else route.direct_call.bind(scope)
        if route is None or bound is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        await _respond(route, bound, scope, receive, send)

    def _find_route(self, scope: Scope) -> AuthenticatedRoute | None:
        method, path = scope["method"], scope["path"]
        if (method, path) in self._routes:
            entry, last = self._routes[method, path], None
        else:
            cut = path.rfind("/") + 1
            entry, last = self._routes.get((method, path[:cut])), path[cut:]
        if entry is None or (entry.parameter is None) is not (last is None):
            return None
        scope["path_params"] = {} if entry.parameter is None else {entry.parameter: last}
        return entry.route


async def _respond(route: AuthenticatedRoute, bound: Arguments, scope: Scope, receive: Receive, send: Send) -> None:
    """Run the route. An error before the first sent message becomes a problem response; streams may fail that late."""
    started = False

    async def send_and_note(message: Message) -> None:
        nonlocal started
        started = True
        await send(message)

    request = Request(scope, receive, send)
    try:
        response = await route.respond(request, bound)
        await response(scope, receive, send_and_note)
    except (HoraeError, HTTPException) as error:
        if started:
            raise
        problem_response = await (
            handle_refusal(request, error) if isinstance(error, HoraeError) else handle_http_error(request, error)
        )
        await problem_response(scope, receive, send)


def _first_to_match(routes: Sequence[BaseRoute], method: str, path: str) -> BaseRoute | None:
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
