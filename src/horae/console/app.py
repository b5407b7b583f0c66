"""Application of the console: its routes, static files and session checks; it can be mounted under any prefix."""

from __future__ import annotations

from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..web.request_context import AppContext
from .page import Handler, anonymous_viewer, signed_in
from .pages import now, preferences, sign_in
from .rendering import page_response, static_files, static_version

_PAGES: Final[dict[str, Handler]] = {"/": now.show}
"""Pages of signed-in viewers, by path."""
_FORMS: Final[dict[str, Handler]] = {"/preferences": preferences.save, "/sign-out": sign_in.sign_out}
"""Forms of signed-in viewers, by path."""
_MEDIA_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def make_console(context: AppContext) -> Starlette:
    """Build the console over a service; mount it where the request middleware has set a request id."""
    app = Starlette(routes=list(_routes()), exception_handlers={HTTPException: _not_found})
    app.state.context = context
    return app


def _routes() -> list[BaseRoute]:
    pages = [Route(path, signed_in(handler, sign_in.require_sign_in)) for path, handler in _PAGES.items()]
    forms = [
        Route(path, signed_in(handler, sign_in.require_sign_in), methods=["POST"]) for path, handler in _FORMS.items()
    ]
    return [
        *pages,
        *forms,
        Route("/sign-in", sign_in.show_sign_in),
        Route("/sign-in", sign_in.sign_in, methods=["POST"]),
        Route("/static/{version}/{name}", _static),
    ]


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None or request.path_params["version"] != static_version():
        raise HTTPException(404)
    return Response(content, media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers=_FOR_EVER)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return page_response(request, anonymous_viewer(request), "not_found.html", {}, status)
