"""Routes that nobody enters without a token: what a resource is made of. Who forgets to ask is protected all the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from .authentication import caller
from .fast_parameters import Bound, Plain, plain
from .idempotency import HEADER, once, repeatable_of
from .parameters import check_parameters, known_to

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_YES: Final = ("true", "1", "yes", "on", "t", "y")


class Guarded(APIRoute):
    plain: Plain | None
    """How its function is called without the framework, where that can be done."""

    def get_route_handler(self) -> Handler:
        self.plain = plain(self.dependant)
        self._by_framework = super().get_route_handler()
        self._known = known_to(self.dependant)
        self._repeatable = repeatable_of(self.endpoint)

        async def guarded(request: Request) -> Response:
            return await self.answered(request, None if self.plain is None else self.plain.bound(request.scope))

        return guarded

    async def answered(self, request: Request, bound: Bound | None) -> Response:
        """`bound` is what its function is called with; None: let the framework see."""
        who = await caller(request)
        if bound is None or self.plain is None:
            check_parameters(request, self._known)
            handle = self._by_framework
        else:
            simple, given = self.plain, bound

            async def handle(request: Request) -> Response:
                return await simple.answer(request, who, given)

        if self._repeatable is not None and HEADER in request.headers and not _is_rehearsal(request):
            return await once(request, who, self._repeatable, handle)
        return await handle(request)


def _is_rehearsal(request: Request) -> bool:
    """Of what is not done there is no answer to keep."""
    return bool(request.scope["query_string"]) and request.query_params.get("dry_run", "").lower() in _YES


def resource(prefix: str, tag: str) -> APIRouter:
    """A router whose routes are all guarded."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=Guarded)
