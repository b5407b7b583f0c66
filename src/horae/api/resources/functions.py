"""Functions registered by nodes: their arguments and the defaults of their tasks."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...web.authentication import Who
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.functions import function_json
from ..openapi import told

router: Final = resource("/v1", "functions")


@router.get("/functions", **told("list_functions", "The functions that nodes have registered, by name", "FunctionList"))
async def list_functions(request: Request, principal: Who) -> Response:
    functions = await house_of(request).service.functions.all(principal)
    return answer({"items": [function_json(each) for each in functions], "next_cursor": None})


@router.get(
    "/functions/{name:path}",
    **told("get_function", "One function: its arguments, and what its tasks start from", "Function", problems=(404,)),
)
async def get_function(request: Request, principal: Who, name: Annotated[str, Path(max_length=200)]) -> Response:
    return answer(function_json(await house_of(request).service.functions.get(principal, name)))
