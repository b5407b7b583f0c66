"""OpenAPI document, generated from the declared routes: parameters, bodies with examples, responses, problems, security."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from ..version import __version__
from ..web.parameters import Body
from ..web.responses import JSON
from ..web.routing import ApiRoute
from ..wire.schemas import components
from .compat.shapes import SCHEMAS

_MEANINGS: Final = {
    400: "The request cannot be read: no JSON, an unknown parameter, a bad header",
    401: "No token, or one that is not valid",
    403: "The token lacks the scope for this",
    404: "It does not exist, or it belongs to another owner",
    410: "It is gone: an event too old for the log, or the result of a repeated request",
    409: "It exists, but its state does not allow this now",
    408: "The body did not arrive in time",
    412: "It has changed since: the ETag is not the current one",
    413: "The body has more than 1 MB",
    415: "The body is not JSON",
    422: "It can be read, but not be done: the errors point to the fields",
    426: "The route answers only WebSockets",
    429: "Too often, or more than a quota allows; see Retry-After",
    503: "The store cannot be reached; see Retry-After",
    507: "The store has no space left for another write; see Retry-After",
}
_ALWAYS_POSSIBLE: Final = (400, 401, 403, 422, 429, 503)
_WITH_BODY: Final = (408, 413, 415)
_WITH_KEY: Final = (409, 410)
_REFERENCE: Final = re.compile(r'"#/components/schemas/(\w+)"')
CALLBACK_OPERATION: Final = "answer_run"
_SCHEMES: Final = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token, `horae_…`."},
    "callback": {"type": "http", "scheme": "bearer", "description": "The token that came with the call."},
    "callback_header": {"type": "apiKey", "in": "header", "name": "Horae-Callback-Token"},
}
_DESCRIPTION: Final = """A durable, precise scheduler. Times are RFC 3339 in UTC with the same in the task's zone beside it
(`…_local`); lengths of time are ISO 8601 or `5m` going in, milliseconds with `_ms` coming out. Every list is a page
`{items, next_cursor}`. Errors are `application/problem+json`. Send the token as `Authorization: Bearer horae_…`."""
_IDEMPOTENCY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same request with the same key within 24 hours is done once; a replay shows it as it is now.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The ETag that you have seen; when the definition has changed since, nothing is done (412).",
    "schema": {"type": "string"},
}
IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag that you have (304 when it is still the current one), or * to change nothing that exists.",
    "schema": {"type": "string"},
}


@dataclass(frozen=True, slots=True)
class Operation:
    """OpenAPI metadata of a route beyond its declared parameters: operation id, summary, shape and status of the response.

    `problems` are statuses that only this operation has; `also` are further responses, by status and shape; `public`: no
    request needs a token; `body`: a body that the endpoint reads itself, after checks of its own.
    """

    name: str
    summary: str
    response: str | None
    _: KW_ONLY
    status: int = 200
    problems: Sequence[int] = ()
    headers: Sequence[Mapping[str, Any]] = ()
    also: Mapping[int, str] = field(default_factory=dict)
    description: str = ""
    public: bool = False
    body: Body | None = None
    media_type: str = JSON
    problem_shape: str = "Problem"


def build_document(routes: Iterable[ApiRoute]) -> dict[str, Any]:
    """Build the OpenAPI 3.1 document of the documented routes, with the shapes that they reference."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.operation is not None:
            paths.setdefault(route.path_format, {})[route.method.lower()] = build_operation(route, route.operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Horae",
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
            "version": __version__,
        },
        "servers": [{"url": "/", "description": "The server that gave out this document."}],
        "paths": paths,
        "components": {"schemas": _referenced(components(SCHEMAS), paths), "securitySchemes": _SCHEMES},
    }


def build_operation(route: ApiRoute, operation: Operation) -> dict[str, Any]:
    """Return the OpenAPI operation object of a route."""
    body = operation.body or route.binder.body
    parameters = [
        *(each.to_json() for each in route.binder.parameters),
        *operation.headers,
        *((_IDEMPOTENCY,) if route.repeatable is not None else ()),
    ]
    document: dict[str, Any] = {
        "tags": [route.group.tag],
        "summary": operation.summary,
        "description": operation.description or operation.summary,
        "operationId": operation.name,
    }
    if parameters:
        document["parameters"] = parameters
    if body is not None:
        document["requestBody"] = _request_body(body)
    document["responses"] = _responses(route, operation, has_body=body is not None)
    document["security"] = _security(route, operation)
    return document


def _request_body(body: Body) -> dict[str, Any]:
    example = {} if body.example is None else {"example": body.example}
    content = {JSON: {"schema": schema_reference(body.shape), **example}}
    return {"required": not body.optional, "content": content}


def _responses(route: ApiRoute, operation: Operation, *, has_body: bool) -> dict[str, Any]:
    problems = {
        *((400,) if operation.public else _ALWAYS_POSSIBLE),
        *operation.problems,
        *(_WITH_BODY if has_body else ()),
        *(_WITH_KEY if route.repeatable is not None else ()),
    }
    if 503 in problems and route.method != "GET":
        problems.add(507)
    responses: dict[int, Any] = {status: _problem(status, operation.problem_shape) for status in problems}
    if IF_NONE_MATCH in operation.headers:
        responses[304] = {"description": "Not modified"}
    responses |= {status: _success(shape) for status, shape in operation.also.items()}
    if operation.status == 201:
        # A dry run of a creation answers 200.
        responses[200] = _success(operation.response)
    responses[operation.status] = _success(operation.response, operation.media_type)
    return {str(status): responses[status] for status in sorted(responses)}


def _success(shape: str | None, media_type: str = JSON) -> dict[str, Any]:
    if shape is None and media_type == JSON:
        return {"description": "Done"}
    schema = {"type": "string"} if shape is None else schema_reference(shape)
    return {"description": "The answer", "content": {media_type: {"schema": schema}}}


def _problem(status: int, shape: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": schema_reference(shape)}}
    return {"description": _MEANINGS[status], "content": content}


def _security(route: ApiRoute, operation: Operation) -> list[dict[str, list[str]]]:
    """Return the security of a route: a token; a callback token; an optional token; or none."""
    if route.group.authenticated:
        return [{"token": []}]
    if operation.name == CALLBACK_OPERATION:
        return [{"callback": []}, {"callback_header": []}]
    return [] if operation.public and 401 not in operation.problems else [{}, {"token": []}]


def schema_reference(shape: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{shape}"}


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


# Example request bodies; each is valid as it is.
NEW_TASK: Final[dict[str, Any]] = {
    "name": "morning report",
    "when": "every weekday at 9am",
    "zone": "Asia/Shanghai",
    "say": "good morning",
    "policies": {"missed": "latest within 1h", "retries": 3, "timeout": "2m"},
    "labels": {"team": "ops"},
}
EDIT: Final[dict[str, Any]] = {"when": "every weekday at 8:30am", "zone": "Asia/Shanghai"}
PAUSE: Final[dict[str, Any]] = {"note": "on holiday", "until": "2099-01-07"}
RESUME: Final[dict[str, Any]] = {"missed": "latest"}
SKIP: Final[dict[str, Any]] = {"number": 1}
RUN_NOW: Final[dict[str, Any]] = {"input": {"merge": {"day": "2026-11-01"}}}
BACKFILL: Final[dict[str, Any]] = {"from": "2026-11-01", "to": "2026-11-02"}
APPROVE: Final[dict[str, Any]] = {"digest": "0" * 64}
REJECT: Final[dict[str, Any]] = {"reason": "too often; twice a day is enough"}
BULK: Final[dict[str, Any]] = {"tasks": [NEW_TASK, {"name": "tick", "when": "every 10m", "say": "tick"}]}
ACTIONS: Final[dict[str, Any]] = {"action": "pause", "filter": {"label": ["team=ops"]}, "arguments": {"note": "moving"}}
PREVIEW: Final[dict[str, Any]] = {"when": "last day of month at 17:00", "zone": "Europe/Berlin", "number": 3}
LANE: Final[dict[str, Any]] = {"limit": 4}
OWNER: Final[dict[str, Any]] = {"role": "member", "zone": "Asia/Shanghai", "quotas": {"active_tasks": 100}}
TOKEN: Final[dict[str, Any]] = {
    "name": "deploy",
    "scopes": ["tasks:read", "tasks:write"],
    "expires": "2099-01-01T00:00:00Z",
}
CALENDAR_TOKEN: Final[dict[str, Any]] = {"name": "phone"}
AGENT: Final[dict[str, Any]] = {"quotas": {"active_tasks": 50, "shortest_interval": "PT1M", "longest_life": None}}
VIEW: Final[dict[str, Any]] = {"query": "state:failed label:team=ops"}
SECRET: Final[dict[str, Any]] = {"value": "s3cret"}
CALLBACK: Final[dict[str, Any]] = {"result": {"rows": 42}}
DRAIN: Final[dict[str, Any]] = {"draining": True}
RETRIES: Final[dict[str, Any]] = {"run_ids": ["run_0199f3a1b2c3d4e5f60718293a4b5c6d"]}
