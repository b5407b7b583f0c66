"""Routes that nobody enters without a token: what a resource is made of. Who forgets to ask is protected all the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from .caller import caller
from .once import HEADER, once
from .parameters import check_parameters, known_to
from .plain import plain

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_YES: Final = ("true", "1", "yes", "on", "t", "y")


class Guarded(APIRoute):
    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        known = known_to(self.dependant)
        repeatable = "POST" in (self.methods or ())
        endpoint = self.endpoint
        simple = plain(self.dependant)

        async def handled(request: Request) -> Response:
            if simple is not None and simple.fits(request):
                return await simple.answer(request, await caller(request))
            return await handle(request)

        async def guarded(request: Request) -> Response:
            who = await caller(request)
            check_parameters(request, known)
            if repeatable and HEADER in request.headers and not _is_rehearsal(request):
                return await once(request, who, endpoint, handled)
            return await handled(request)

        return guarded


def _is_rehearsal(request: Request) -> bool:
    """Of what is not done there is no answer to keep."""
    return request.query_params.get("dry_run", "").lower() in _YES


def resource(prefix: str, tag: str) -> APIRouter:
    """A router whose routes are all guarded."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=Guarded)
