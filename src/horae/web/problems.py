"""Errors as RFC 9457 problem documents: status, code, sentence and hint, without driver messages, host names or file
names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..choices import Language
from ..errors import HoraeError, NotAuthenticated, Refusal, StoreError, StoreFull
from ..wire.pointers import pointer_to
from ..wire.problems import mapping_of, problem_json, sentence_of
from .language import request_language
from .refusals import STATUSES, refuse
from .request_context import request_id
from .responses import encode_json

LOG: Final = logging.getLogger("horae.web")
PROBLEM_JSON: Final = "application/problem+json"
_STORE_RETRY_AFTER: Final = 2
_TIMEOUT: Final = 408
_TITLES: Final[dict[int, dict[Language, str]]] = {
    400: {"en": "bad request", "zh": "请求有误"},
    405: {"en": "method not allowed", "zh": "不支持的方法"},
    408: {"en": "request timeout", "zh": "请求超时"},
    410: {"en": "gone", "zh": "已不存在"},
    412: {"en": "changed since", "zh": "已被修改"},
    413: {"en": "too large", "zh": "内容过大"},
    415: {"en": "not JSON", "zh": "不是 JSON"},
    426: {"en": "upgrade required", "zh": "需要升级协议"},
    500: {"en": "internal error", "zh": "内部错误"},
    502: {"en": "bad gateway", "zh": "网关错误"},
    504: {"en": "gateway timeout", "zh": "网关超时"},
}
"""Titles of statuses that differ from the status of their error class."""


_BY_NAME: Final[dict[Language, str]] = {
    "en": "An id begins with tsk_. By its name, a task is found at GET /v1/tasks/named/{name}, by its key at GET /v1/tasks/by-key/{key}.",
    "zh": "标识以 tsk_ 开头。按名称查找任务请用 GET /v1/tasks/named/{name},按键请用 GET /v1/tasks/by-key/{key}。",
}


def problem_response(request: Request, error: HoraeError) -> Response:
    """Return the problem response for an error; errors with a 5xx status are logged."""
    status = status_of(error)
    if status >= 500:
        LOG.warning("%s %s: %s", request_id(request), type(error).__name__, error)
    shape = _problem_document(error, status, request, request_language(request))
    return Response(encode_json(shape), status, _headers(error, status), PROBLEM_JSON)


def status_of(error: HoraeError) -> int:
    own = STATUSES.get(error.code) if isinstance(error, Refusal) else None
    return mapping_of(error).status if own is None else own


def _problem_document(error: HoraeError, status: int, request: Request, lang: Language) -> dict[str, Any]:
    document = problem_json(error, lang)
    if isinstance(error, StoreError) and not isinstance(error, Refusal):
        # A driver's message may name hosts, files and tables.
        document["detail"] = sentence_of(error, lang).message
    position = document.pop("position")
    if _is_name_as_id(error, request.url.path):
        document["hint"] = _BY_NAME[lang]
    return {
        **document,
        "title": _TITLES.get(status, {}).get(lang, document["title"]),
        "type": f"urn:horae:problem:{document['code']}",
        "status": status,
        "instance": request.url.path,
        "request_id": request_id(request),
        "errors": _errors(error, document, position),
        **_current_version(error),
    }


def _is_name_as_id(error: HoraeError, path: str) -> bool:
    """Return whether a name or a key is used in a path that takes the id of a task."""
    if not isinstance(error, Refusal) or error.code != "no_such_task":
        return False
    is_by_id = path.startswith("/v1/tasks/") and not path.startswith(("/v1/tasks/named/", "/v1/tasks/by-key/"))
    return is_by_id and not str(error.facts.get("id", "")).startswith("tsk_")


def _current_version(error: HoraeError) -> dict[str, int]:
    """Return the current version of the resource, for conflicts."""
    version = error.facts.get("version") if isinstance(error, Refusal) else None
    return {"version": version} if isinstance(version, int) else {}


def _errors(error: HoraeError, document: Mapping[str, Any], position: int | None) -> list[dict[str, Any]]:
    """Return where in the body or the parameters the error is, if known."""
    pointer = pointer_to(error) if isinstance(error, Refusal) else None
    if pointer is None:
        return []
    at = {} if position is None else {"position": position}
    return [
        {
            "pointer": pointer,
            "code": document["code"],
            "detail": document["detail"],
            "suggestion": document["hint"],
            **at,
        }
    ]


def _headers(error: HoraeError, status: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    facts = error.facts if isinstance(error, Refusal) else {}
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if "retry_after" in facts:
        headers["Retry-After"] = str(facts["retry_after"])
    elif status == 503 or isinstance(error, StoreFull):
        headers["Retry-After"] = str(_STORE_RETRY_AFTER)
    if status == _TIMEOUT:
        # The rest of the body may still arrive and must not be parsed as the next request.
        headers["Connection"] = "close"
    if "allowed_methods" in facts:
        headers["Allow"] = str(facts["allowed_methods"])
    if "etag" in facts:
        headers["ETag"] = str(facts["etag"])
    return headers


def routing_problem(request: Request, error: HTTPException) -> Response:
    """Return the response to an error of the router: unknown path, method not allowed."""
    status = error.status_code
    if status == 405:
        allowed = ", ".join(sorted(allowed_methods(request)))
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": allowed})
        return problem_response(
            request,
            refuse(
                "bad_method", method=request.method, path=request.url.path, allowed=allowed, allowed_methods=allowed
            ),
        )
    if status == 404:
        return problem_response(request, refuse("no_such_path", path=request.url.path))
    LOG.warning("%s the framework answered %s", request_id(request), status)
    return problem_response(
        request, refuse("internal_error") if status >= 500 else refuse("not_json", problem=f"status {status}")
    )


def allowed_methods(request: Request) -> set[str]:
    """Return every method that a route has for this path."""
    methods_found = {"OPTIONS"}
    for route in request.app.routes:
        if isinstance(route, Route) and route.path_regex.match(request.scope["path"]):
            methods_found |= route.methods or set()
    return methods_found | ({"HEAD"} if "GET" in methods_found else set())
