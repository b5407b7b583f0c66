"""Route class that authenticates each request before its handler runs, also where the handler does not use the
principal."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from .authentication import authenticate_caller
from .fast_parameters import Arguments, DirectCall, direct_call_of
from .idempotency import HEADER, repeatable_of, run_once
from .parameters import check_parameters, declared_parameters

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_TRUE_WORDS: Final = ("true", "1", "yes", "on", "t", "y")


class AuthenticatedRoute(APIRoute):
    direct_call: DirectCall | None
    """Calls the endpoint without the framework; None where only the framework can bind its parameters."""

    def get_route_handler(self) -> Handler:
        self.direct_call = direct_call_of(self.dependant)
        self._framework_handler = super().get_route_handler()
        self._declared = declared_parameters(self.dependant)
        self._repeatable = repeatable_of(self.endpoint)

        async def guarded(request: Request) -> Response:
            return await self.respond(
                request, None if self.direct_call is None else self.direct_call.bind(request.scope)
            )

        return guarded

    async def respond(self, request: Request, bound: Arguments | None) -> Response:
        """Authenticate and answer the request. `bound` holds the endpoint's arguments; None lets the framework bind
        them."""
        principal = await authenticate_caller(request)
        if bound is None or self.direct_call is None:
            check_parameters(request, self._declared)
            handle = self._framework_handler
        else:
            direct, arguments = self.direct_call, bound

            async def handle(request: Request) -> Response:
                return await direct.invoke(request, principal, arguments)

        if self._repeatable is not None and HEADER in request.headers and not _is_dry_run(request):
            return await run_once(request, principal, self._repeatable, handle)
        return await handle(request)


def _is_dry_run(request: Request) -> bool:
    """Return whether this is a dry run: nothing is changed, so there is no answer to store under a key."""
    return bool(request.scope["query_string"]) and request.query_params.get("dry_run", "").lower() in _TRUE_WORDS


def resource_router(prefix: str, tag: str) -> APIRouter:
    """Build a router whose routes all require a token."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=AuthenticatedRoute)
