"""The short way: a request whose route is known by its path alone, and which asks for nothing special, goes straight there.

All others take the long way through the framework, which would have done the same for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import HoraeError
from .fast_parameters import Bound
from .problems import on_refusal, on_status
from .routers import Guarded

_SAMPLE: Final = "0"
"""What stands for any word in the last place of a path when routes are compared."""


class _Found(NamedTuple):
    route: Guarded
    parameter: str | None
    """The name of the last part of its path, where that is one."""


class ShortWay:
    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        # None: a fixed path whose route takes the long way, so that its last word is not taken for a parameter.
        self._found: dict[tuple[str, str], _Found | None] = {
            (method, route.path): None
            for route in routes
            if isinstance(route, Route) and "{" not in route.path
            for method in route.methods or ()
        }
        for route in routes:
            if isinstance(route, Guarded) and route.plain is not None:
                self._know(route, routes)

    def _know(self, route: Guarded, routes: Sequence[BaseRoute]) -> None:
        """By its whole path, or by all but the last part of it; a path with other parts that vary takes the long way."""
        head, _, last = route.path.rpartition("/")
        varies = last.startswith("{") and last.endswith("}") and ":" not in last
        if "{" in head or ("{" in last and not varies):
            return
        path = f"{head}/{_SAMPLE}" if varies else route.path
        for method in route.methods or ():
            if _first_to_match(routes, method, path) is route:
                self._found[method, f"{head}/" if varies else path] = _Found(route, last[1:-1] if varies else None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._route(scope) if scope["type"] == "http" else None
        bound = None if found is None or found.plain is None else found.plain.bound(scope)
        if found is None or bound is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = found
        await _answer(found, bound, scope, receive, send)

    def _route(self, scope: Scope) -> Guarded | None:
        method, path = scope["method"], scope["path"]
        if (method, path) in self._found:
            found, last = self._found[method, path], None
        else:
            cut = path.rfind("/") + 1
            found, last = self._found.get((method, path[:cut])), path[cut:]
        if found is None or (found.parameter is None) is not (last is None):
            return None
        scope["path_params"] = {} if found.parameter is None else {found.parameter: last}
        return found.route


async def _answer(route: Guarded, bound: Bound, scope: Scope, receive: Receive, send: Send) -> None:
    """A stream may be refused when it begins, and not only before: until something was sent, that is an answer too."""
    begun = False

    async def sent(message: Message) -> None:
        nonlocal begun
        begun = True
        await send(message)

    request = Request(scope, receive, send)
    try:
        response = await route.answered(request, bound)
        await response(scope, receive, sent)
    except (HoraeError, HTTPException) as error:
        if begun:
            raise
        told = await (on_refusal(request, error) if isinstance(error, HoraeError) else on_status(request, error))
        await told(scope, receive, send)


def _first_to_match(routes: Sequence[BaseRoute], method: str, path: str) -> BaseRoute | None:
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)
