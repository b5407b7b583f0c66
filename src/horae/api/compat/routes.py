"""Routes of the compatibility surfaces: authenticated like all others, with `success` and `message` in their problem
documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import HoraeError, Refusal
from ...web.parameters import Path
from ...web.problems import PROBLEM_JSON, problem_response
from ...web.responses import encode_json
from ...web.routing import RouteGroup
from ..openapi import Operation

TaskUuid = Annotated[str, Path()]
compat_operation: Final = partial(Operation, problem_shape="CompatProblem")


def compat_routes(prefix: str, tag: str, statuses: Mapping[str, int] | None = None) -> RouteGroup:
    """Build a group whose problem responses have `success` and `message`, which these clients read. `statuses`: by refusal
    code, where clients of this surface expect another status."""

    def render_problem(request: Request, error: HoraeError) -> Response:
        code = error.code if isinstance(error, Refusal) else ""
        return _with_compat_fields(problem_response(request, error), (statuses or {}).get(code))

    return RouteGroup(prefix, tag, render_problem=render_problem)


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
