"""Every error as RFC 9457: a status, a code for programs, a sentence and a hint for people, and nothing of our insides."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..choices import Language
from ..errors import HoraeError, NotAuthenticated, Refusal, StoreError, StoreFull
from ..wire.pointers import pointer_to
from ..wire.problems import answer_to, problem_json, sentence_of
from .language import language
from .refusals import STATUSES, refuse
from .request_context import request_id
from .responses import encoded

LOG: Final = logging.getLogger("horae.web")
PROBLEM: Final = "application/problem+json"
_STORE_WAIT: Final = 2
_TIMEOUT: Final = 408
_TITLES: Final[dict[int, dict[Language, str]]] = {
    400: {"en": "bad request", "zh": "请求有误"},
    405: {"en": "method not allowed", "zh": "不支持的方法"},
    408: {"en": "request timeout", "zh": "请求超时"},
    410: {"en": "gone", "zh": "已不存在"},
    412: {"en": "changed since", "zh": "已被修改"},
    413: {"en": "too large", "zh": "内容过大"},
    415: {"en": "not JSON", "zh": "不是 JSON"},
    500: {"en": "internal error", "zh": "内部错误"},
}
"""Of what has another status than its kind of error."""


_BY_NAME: Final[dict[Language, str]] = {
    "en": "An id begins with tsk_. By its name, a task is found at GET /v1/tasks/named/{name}, by its key at GET /v1/tasks/by-key/{key}.",
    "zh": "标识以 tsk_ 开头。按名称查找任务请用 GET /v1/tasks/named/{name},按键请用 GET /v1/tasks/by-key/{key}。",
}


def problem(request: Request, error: HoraeError) -> Response:
    """The answer that tells of it."""
    status = status_of(error)
    if status >= 500:
        LOG.warning("%s %s: %s", request_id(request), type(error).__name__, error)
    shape = _shape(error, status, request, language(request))
    return Response(encoded(shape), status, _headers(error, status), PROBLEM)


def status_of(error: HoraeError) -> int:
    own = STATUSES.get(error.code) if isinstance(error, Refusal) else None
    return answer_to(error).status if own is None else own


def _shape(error: HoraeError, status: int, request: Request, said_in: Language) -> dict[str, Any]:
    told = problem_json(error, said_in)
    if isinstance(error, StoreError) and not isinstance(error, Refusal):
        # What a driver says may name hosts, files and tables.
        told["detail"] = sentence_of(error, said_in).message
    position = told.pop("position")
    if _is_name_as_id(error, request.url.path):
        told["hint"] = _BY_NAME[said_in]
    return {
        **told,
        "title": _TITLES.get(status, {}).get(said_in, told["title"]),
        "type": f"urn:horae:problem:{told['code']}",
        "status": status,
        "instance": request.url.path,
        "request_id": request_id(request),
        "errors": _errors(error, told, position),
        **_current(error),
    }


def _is_name_as_id(error: HoraeError, path: str) -> bool:
    """Whether a name, or a key, stands where the path of a task has its id."""
    if not isinstance(error, Refusal) or error.code != "no_such_task":
        return False
    is_by_id = path.startswith("/v1/tasks/") and not path.startswith(("/v1/tasks/named/", "/v1/tasks/by-key/"))
    return is_by_id and not str(error.facts.get("id", "")).startswith("tsk_")


def _current(error: HoraeError) -> dict[str, int]:
    """Of what has changed since, the version that it has now."""
    version = error.facts.get("version") if isinstance(error, Refusal) else None
    return {"version": version} if isinstance(version, int) else {}


def _errors(error: HoraeError, told: Mapping[str, Any], position: int | None) -> list[dict[str, Any]]:
    """Where in the body or in the parameters it is, where that is known."""
    pointer = pointer_to(error) if isinstance(error, Refusal) else None
    if pointer is None:
        return []
    place = {} if position is None else {"position": position}
    return [{"pointer": pointer, "code": told["code"], "detail": told["detail"], "suggestion": told["hint"], **place}]


def _headers(error: HoraeError, status: int) -> dict[str, str]:
    headers: dict[str, str] = {}
    facts = error.facts if isinstance(error, Refusal) else {}
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if "retry_after" in facts:
        headers["Retry-After"] = str(facts["retry_after"])
    elif status == 503 or isinstance(error, StoreFull):
        headers["Retry-After"] = str(_STORE_WAIT)
    if status == _TIMEOUT:
        # The rest of the body may still come: it is not read as the next request.
        headers["Connection"] = "close"
    if "allowed_methods" in facts:
        headers["Allow"] = str(facts["allowed_methods"])
    if "etag" in facts:
        headers["ETag"] = str(facts["etag"])
    return headers


# --- handlers that the application knows by kind of error ------------------------------------------------------------


async def on_refusal(request: Request, error: Exception) -> Response:
    return problem(request, error if isinstance(error, HoraeError) else refuse("internal_error"))


async def on_status(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: an unknown path, a method that a path has not."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        allowed = ", ".join(sorted(allowed_methods(request)))
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": allowed})
        return problem(
            request,
            refuse(
                "bad_method", method=request.method, path=request.url.path, allowed=allowed, allowed_methods=allowed
            ),
        )
    if status == 404:
        return problem(request, refuse("no_such_path", path=request.url.path))
    LOG.warning("%s the framework answered %s", request_id(request), status)
    return problem(
        request, refuse("internal_error") if status >= 500 else refuse("not_json", problem=f"status {status}")
    )


def allowed_methods(request: Request) -> set[str]:
    """Every method that some route has for this path."""
    found = {"OPTIONS"}
    for path, methods in request.app.state.paths:
        if path.fullmatch(request.scope["path"]):
            found |= methods
    return found | ({"HEAD"} if "GET" in found else set())


async def on_invalid(request: Request, error: Exception) -> Response:
    """A parameter that does not fit, as the framework found it: the first one is told."""
    for name, value, said in _invalid(error):
        return problem(request, refuse("bad_parameter_value", name=name, value=value, problem=said))
    return problem(request, refuse("internal_error"))


def _invalid(error: Exception) -> Iterator[tuple[str, object, str]]:
    if isinstance(error, RequestValidationError):
        for each in error.errors():
            yield str(each["loc"][-1]), each.get("input"), str(each["msg"])
