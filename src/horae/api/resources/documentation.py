"""Documentation routes: the OpenAPI document, a self-contained page that shows it, and `llms.txt`."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...web.responses import JSON, encode_json
from ...web.routing import ApiRoute, RouteGroup
from ..openapi import build_document

routes: Final = RouteGroup("", "documentation", authenticated=False)

_CSP: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
_LLMS_TEXT: Final = """# Horae

> A durable scheduler: tasks are created over HTTP, run on time, and every due time has a row with its outcome.

Base path /v1. Every request needs `Authorization: Bearer <token>`. JSON in and out; errors are application/problem+json
with a stable `code`, a `hint`, and JSON pointers. `?dry_run=true` where the document lists it; `Idempotency-Key` on every POST.

- [Every route, with schemas](/openapi.json)
- [The same for people](/docs)

Make a task: POST /v1/tasks {"name": "report", "when": "every weekday at 9am", "zone": "Europe/Berlin",
"http": "https://example.org/hook"}. The answer says what was understood (`means`) and the `next_runs`.
Try a schedule without keeping it: POST /v1/schedules/preview {"when": "last day of month at 17:00", "zone": "Europe/Berlin"}.
Why did it not run: GET /v1/tasks/{task_id}/why?at=yesterday.
What went wrong lately: GET /v1/overview, GET /v1/runs?state=failed.
"""


@routes.get("/openapi.json")
async def openapi(request: Request) -> Response:
    state = request.app.state
    if not hasattr(state, "document"):
        state.document = encode_json(
            build_document(route for route in request.app.routes if isinstance(route, ApiRoute))
        )
    return Response(state.document, media_type=JSON)


@routes.get("/llms.txt")
async def llms(_request: Request) -> Response:
    return Response(_LLMS_TEXT, media_type="text/plain; charset=utf-8")


@routes.get("/docs")
async def docs(_request: Request) -> Response:
    return Response(_file("docs.html"), media_type="text/html; charset=utf-8", headers=_CSP)


@routes.get("/docs/docs.js")
async def script(_request: Request) -> Response:
    return Response(_file("docs.js"), media_type="text/javascript; charset=utf-8")


@routes.get("/docs/docs.css")
async def style(_request: Request) -> Response:
    return Response(_file("docs.css"), media_type="text/css; charset=utf-8")


def _file(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
