"""OpenAPI metadata of a route: operation id, summary, request and response shapes, and its problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

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
    429: "Too often, or more than a quota allows; see Retry-After",
    503: "The store cannot be reached; see Retry-After",
    507: "The store has no space left for another write; see Retry-After",
}
_ALWAYS_POSSIBLE: Final = (400, 401, 403, 422, 429, 503)
_WITH_BODY: Final = (408, 413, 415)
_PROBLEM: Final = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
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


def describe_operation(  # noqa: PLR0913 - one keyword for each part of the document
    name: str,
    summary: str,
    response: str | None,
    *,
    status: int = 200,
    request_body: str | None = None,
    optional: bool = False,
    example: Any = None,
    problems: Sequence[int] = (),
    headers: Sequence[Mapping[str, Any]] = (),
    idempotent: bool = False,
    public: bool = False,
    also_status: int | None = None,
    description: str = "",
) -> dict[str, Any]:
    """Return the arguments of a route decorator: its operation id, and everything that the OpenAPI document says.

    `response` and `request_body` name shapes; `idempotent`: the route honours Idempotency-Key; `public`: it needs no
    token; `also_status` is another success status.
    """
    problem_statuses = (
        *((400,) if public else _ALWAYS_POSSIBLE),
        *problems,
        *(_WITH_BODY if request_body else ()),
        *((409, 410) if idempotent else ()),
    )
    extra: dict[str, Any] = {}
    if request_body is not None:
        content: dict[str, Any] = {"schema": schema_reference(request_body)}
        if example is not None:
            content["example"] = example
        extra["requestBody"] = {"required": not optional, "content": {"application/json": content}}
    parameters = [*headers, *((_IDEMPOTENCY,) if idempotent else ())]
    if parameters:
        extra["parameters"] = parameters
    return {
        "operation_id": name,
        "summary": summary,
        "description": description or summary,
        "status_code": status,
        "response_model": None,
        "responses": {
            **{each: _success_response(response) for each in _success_statuses(status, also_status)},
            **({304: {"description": "Not modified"}} if IF_NONE_MATCH in headers else {}),
            **{each: problem_document(each) for each in sorted(set(problem_statuses))},
        },
        "openapi_extra": extra or None,
    }


def _success_statuses(status: int, also: int | None) -> tuple[int, ...]:
    """Return the success statuses; a dry run of a creation answers 200."""
    return (status, *({200} if status == 201 else ()), *(() if also is None else (also,)))


def schema_reference(shape: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{shape}"}


def _success_response(shape: str | None) -> dict[str, Any]:
    if shape is None:
        return {"description": "Done"}
    return {"description": "The answer", "content": {"application/json": {"schema": schema_reference(shape)}}}


def problem_document(status: int) -> dict[str, Any]:
    return {"description": _MEANINGS[status], "content": _PROBLEM}
