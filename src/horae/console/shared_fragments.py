"""Fragments that many open pages fetch at the same time: one rendering answers all requests that arrived before it began."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex
from typing import Final

from starlette.responses import Response

from .application import ConsoleApplication
from .formats import machine_time
from .page import Handler, PageRequest
from .renderer import NOW_HEADER

_CSRF_MARK: Final = f"csrf-{token_hex(16)}".encode()
"""Stands in a shared rendering for the token of each session; stored text cannot contain it."""


async def share_fragment(request: PageRequest, show: Handler) -> Response:
    """Respond with a fragment of a page that looks the same for all sessions of an owner with these rights and settings."""
    application = request.request.scope["app"]
    if not isinstance(application, ConsoleApplication):
        return await show(request)
    viewer, clock = request.viewer, request.context.clock
    principal = viewer.principal
    own = (principal.owner, principal.owner_filter, principal.scopes, principal.agent)
    settings = (viewer.language, viewer.zone, viewer.theme, viewer.base, viewer.is_simple, viewer.has_keys)
    key = (request.request.url.path, request.request.url.query, own, settings)

    async def render() -> Response:
        shared = viewer._replace(csrf=_CSRF_MARK.decode(), now=clock.now())
        return await show(replace(request, viewer=shared))

    found = await application.batches.join(key, render)
    body = bytes(found.body).replace(_CSRF_MARK, viewer.csrf.encode())
    # A script takes the instant for that in the middle of its request, which may have waited for the others.
    middle = viewer.now + (clock.now() - viewer.now) / 2
    headers = {name: value for name, value in found.headers.items() if name != "content-length"}
    return Response(body, found.status_code, {**headers, NOW_HEADER: machine_time(middle)})
