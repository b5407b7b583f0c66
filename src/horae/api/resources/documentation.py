"""Documentation routes: the OpenAPI document, a self-contained page that shows it, and `llms.txt`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

from ...version import __version__
from ...web.responses import JSON, encode_json
from ...web.routers import AuthenticatedRoute
from ...wire.schemas import components
from ..compat.shapes import SCHEMAS
from ..openapi import problem_document

router: Final = APIRouter(include_in_schema=False)

_CSP: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
_SCHEMES: Final = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token, `horae_…`."},
    "callback": {"type": "http", "scheme": "bearer", "description": "The token that came with the call."},
    "callback_header": {"type": "apiKey", "in": "header", "name": "Horae-Callback-Token"},
}
_REFERENCE: Final = re.compile(r'"#/components/schemas/(\w+)"')
CALLBACK_OPERATION: Final = "answer_run"
_DESCRIPTION: Final = """A durable, precise scheduler. Times are RFC 3339 in UTC with the same in the task's zone beside it
(`…_local`); lengths of time are ISO 8601 or `5m` going in, milliseconds with `_ms` coming out. Every list is a page
`{items, next_cursor}`. Errors are `application/problem+json`. Send the token as `Authorization: Bearer horae_…`."""
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


def document(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI 3.1 document: the routes' metadata, and the shapes that they reference."""
    spec = get_openapi(
        title="Horae", version=__version__, openapi_version="3.1.0", description=_DESCRIPTION, routes=app.routes
    )
    spec["info"]["license"] = {"name": "MIT", "identifier": "MIT"}
    spec["servers"] = [{"url": "/", "description": "The server that gave out this document."}]
    spec["components"] = {
        "schemas": _referenced(components() | SCHEMAS, spec["paths"]),
        "securitySchemes": _SCHEMES,
    }
    guarded = {route.operation_id for route in app.routes if isinstance(route, AuthenticatedRoute)}
    for operations in spec["paths"].values():
        for method, operation in operations.items():
            if method != "get" and "503" in operation["responses"]:
                operation["responses"]["507"] = problem_document(507)
            needs_token = operation["operationId"] in guarded
            # Routes with another kind of token, or none, have their own security rule.
            operation["security"] = [{"token": []}] if needs_token else _security_of(operation)
    return spec


def _referenced(shapes: Mapping[str, Any], paths: Any) -> dict[str, Any]:
    """Return the shapes that the paths reference, directly or through other shapes."""
    used: dict[str, Any] = {}
    pending = _REFERENCE.findall(json.dumps(paths))
    while pending:
        name = pending.pop()
        if name not in used:
            used[name] = shapes[name]
            pending += _REFERENCE.findall(json.dumps(shapes[name]))
    return {name: used[name] for name in shapes if name in used}


def _security_of(operation: dict[str, Any]) -> list[dict[str, list[str]]]:
    """Return the security of a route without a required token: a callback token, an optional token, or none."""
    if operation["operationId"] == CALLBACK_OPERATION:
        return [{"callback": []}, {"callback_header": []}]
    return [{}, {"token": []}] if "401" in operation["responses"] else []


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    state = request.app.state
    if not hasattr(state, "document"):
        state.document = encode_json(document(request.app))
    return Response(state.document, media_type=JSON)


@router.get("/llms.txt")
async def llms() -> Response:
    return Response(_LLMS_TEXT, media_type="text/plain; charset=utf-8")


@router.get("/docs")
async def docs() -> Response:
    return Response(_file("docs.html"), media_type="text/html; charset=utf-8", headers=_CSP)


@router.get("/docs/docs.js")
async def script() -> Response:
    return Response(_file("docs.js"), media_type="text/javascript; charset=utf-8")


@router.get("/docs/docs.css")
async def style() -> Response:
    return Response(_file("docs.css"), media_type="text/css; charset=utf-8")


def _file(name: str) -> str:
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
