"""Route declarations: one group per resource, and a Starlette route that authenticates, binds the declared parameters
and calls the endpoint."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from ..errors import HoraeError
from .authentication import authenticate_caller
from .idempotency import HEADER, idempotent_route_of, run_once
from .parameters import Binder
from .problems import problem_response, routing_problem

Endpoint: TypeAlias = Callable[..., Awaitable[Response]]
"""`endpoint(request, principal, **arguments)`, or `endpoint(request, **arguments)` in a group without authentication."""
ProblemRenderer: TypeAlias = Callable[[Request, HoraeError], Response]


class ApiRoute(Route):
    """One method and path. `operation` is the route's OpenAPI metadata; None: the route is not documented."""

    def __init__(self, group: RouteGroup, method: str, path: str, endpoint: Endpoint, operation: Any) -> None:
        super().__init__(path, endpoint, methods=[method])
        # The middleware serves HEAD as GET.
        self.methods = {method}
        self.app = self._respond
        self.group = group
        self.method = method
        self.operation = operation
        self.binder = Binder(endpoint, path)
        self.repeatable = idempotent_route_of(endpoint)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        try:
            if self.group.authenticated:
                response = await self._call_for_principal(request)
            else:
                response = await self.endpoint(request, **self.binder.bind_path(scope))
            await response(scope, receive, send)
        except HoraeError as error:
            # Streams are refused here too, before they start.
            await self.group.render_problem(request, error)(scope, receive, send)

    async def _call_for_principal(self, request: Request) -> Response:
        principal = await authenticate_caller(request)
        arguments = self.binder.bind(request.scope)

        async def call(request: Request) -> Response:
            if self.binder.body is not None:
                await self.binder.bind_body(request, self.binder.body, arguments)
            response: Response = await self.endpoint(request, principal, **arguments)
            return response

        if self.repeatable is not None and HEADER in request.headers and arguments.get("dry_run") is not True:
            return await run_once(request, principal, self.repeatable, call)
        return await call(request)


class RouteGroup:
    """Routes with a common path prefix and tag.

    `authenticated`: every request needs a token, also where the endpoint does not use the principal. `render_problem`
    renders the refusals of the group.
    """

    def __init__(
        self,
        prefix: str,
        tag: str,
        *,
        authenticated: bool = True,
        render_problem: ProblemRenderer = problem_response,
    ) -> None:
        self.tag = tag
        self.authenticated = authenticated
        self.render_problem = render_problem
        self._prefix = prefix
        self._routes: list[ApiRoute] = []
        self.get = partial(self._declare, "GET")
        self.post = partial(self._declare, "POST")
        self.put = partial(self._declare, "PUT")
        self.patch = partial(self._declare, "PATCH")
        self.delete = partial(self._declare, "DELETE")

    def __iter__(self) -> Iterator[ApiRoute]:
        return iter(self._routes)

    def _declare(self, method: str, path: str, operation: Any = None) -> Callable[[Endpoint], Endpoint]:
        """Decorator: the function answers `method` at `path` below the prefix of the group."""

        def add(endpoint: Endpoint) -> Endpoint:
            self._routes.append(ApiRoute(self, method, self._prefix + path, endpoint, operation))
            return endpoint

        return add


class IndexedRouter(Router):
    """Router that finds a route by method and path in a dictionary, where the path is fixed or only its last segment is a
    parameter. All other paths are left to the scan of `Router`, which costs as much as the rest of a request."""

    def __init__(self, routes: Iterable[ApiRoute]) -> None:
        declared = tuple(routes)
        super().__init__(declared, redirect_slashes=False)
        self._fixed: dict[tuple[str, str], ApiRoute] = {}
        self._with_parameter: dict[tuple[str, str], tuple[ApiRoute, str]] = {}
        for route in declared:
            head, _, last = route.path.rpartition("/")
            if "{" not in route.path:
                self._fixed[route.method, route.path] = route
            elif "{" not in head and ":" not in last:
                self._with_parameter[route.method, head] = route, last[1:-1]

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._find(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        if route is None:
            await self._scan(scope, receive, send)
        else:
            scope["route"] = route
            await route.app(scope, receive, send)

    async def _scan(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().app(scope, receive, send)
        except HTTPException as error:
            # The router's own: unknown path, method not allowed.
            await routing_problem(Request(scope), error)(scope, receive, send)

    def _find(self, scope: Scope) -> ApiRoute | None:
        """Return the route and set the path parameters; None if only a scan can tell."""
        method, path = scope["method"], scope["path"]
        scope["path_params"] = {}
        fixed = self._fixed.get((method, path))
        if fixed is not None:
            return fixed
        head, _, last = path.rpartition("/")
        route, name = self._with_parameter.get((method, head), (None, ""))
        if route is None or not last:
            return None
        scope["path_params"] = {name: last}
        return route
