"""The doors of these surfaces: guarded like all others, with refusals that their clients understand as well."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from ...errors import HoraeError, Refusal
from ...web.fast_parameters import Bound
from ...web.problems import PROBLEM, on_invalid, problem
from ...web.responses import encoded
from ...web.routers import Guarded


class CompatRoute(Guarded):
    """A problem as everywhere, which also says what these clients look for: `success` and `message`."""

    statuses: ClassVar[Mapping[str, int]] = {}
    """Where clients of this surface know a refusal by another status than the rest of the world."""

    async def answered(self, request: Request, bound: Bound | None) -> Response:
        try:
            return await super().answered(request, bound)
        except HoraeError as error:
            return _reworded(problem(request, error), self.statuses.get(_code(error)))
        except RequestValidationError as error:
            return _reworded(await on_invalid(request, error))


def _code(error: HoraeError) -> str:
    return error.code if isinstance(error, Refusal) else ""


def _reworded(response: Response, status: int | None = None) -> Response:
    shape: dict[str, Any] = json.loads(bytes(response.body))
    shape |= {"success": False, "message": f"{shape['detail']} {shape['hint']}".strip()}
    # Their fields have other names than a task's own.
    shape["errors"] = [each for each in shape["errors"] if not str(each["pointer"]).startswith("/when")]
    if status is not None:
        shape["status"] = status
    kept = {name: value for name, value in response.headers.items() if name not in ("content-length", "content-type")}
    return Response(encoded(shape), shape["status"], kept, PROBLEM)


class ScheduledTaskRoute(CompatRoute):
    statuses: ClassVar[Mapping[str, int]] = {
        "compat_bad_seconds": 400,
        "interval_too_short": 400,
        "too_many_tasks": 409,
    }


def surface(prefix: str, tag: str, route: type[CompatRoute] = CompatRoute) -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], route_class=route)
