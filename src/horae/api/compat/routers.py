"""Routes of the compatibility surfaces: authenticated like all others, with `success` and `message` in their problem
documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from ...errors import HoraeError, Refusal
from ...web.fast_parameters import Arguments
from ...web.problems import PROBLEM_JSON, handle_invalid_parameter, problem_response
from ...web.responses import encode_json
from ...web.routers import AuthenticatedRoute


class CompatRoute(AuthenticatedRoute):
    """Adds `success` and `message`, which these clients read, to problem responses."""

    statuses: ClassVar[Mapping[str, int]] = {}
    """Statuses by refusal code where clients of this surface expect another one."""

    async def respond(self, request: Request, bound: Arguments | None) -> Response:
        try:
            return await super().respond(request, bound)
        except HoraeError as error:
            return _with_compat_fields(problem_response(request, error), self.statuses.get(_code(error)))
        except RequestValidationError as error:
            return _with_compat_fields(await handle_invalid_parameter(request, error))


def _code(error: HoraeError) -> str:
    return error.code if isinstance(error, Refusal) else ""


def _with_compat_fields(response: Response, status: int | None = None) -> Response:
    document: dict[str, Any] = json.loads(bytes(response.body))
    document |= {"success": False, "message": f"{document['detail']} {document['hint']}".strip()}
    # Pointers to `/when` name no field of these surfaces.
    document["errors"] = [each for each in document["errors"] if not str(each["pointer"]).startswith("/when")]
    if status is not None:
        document["status"] = status
    headers = {
        name: value for name, value in response.headers.items() if name not in ("content-length", "content-type")
    }
    return Response(encode_json(document), document["status"], headers, PROBLEM_JSON)


class ScheduledTaskRoute(CompatRoute):
    statuses: ClassVar[Mapping[str, int]] = {
        "compat_bad_seconds": 400,
        "interval_too_short": 400,
        "too_many_tasks": 409,
    }


def compat_router(prefix: str, tag: str, route: type[CompatRoute] = CompatRoute) -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], route_class=route)
