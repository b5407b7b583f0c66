"""Functions registered by nodes: their arguments and the defaults of their tasks."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...web.authentication import Caller
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routers import resource_router
from ...wire.functions import function_json
from ..openapi import describe_operation

router: Final = resource_router("/v1", "functions")


@router.get(
    "/functions",
    **describe_operation("list_functions", "The functions that nodes have registered, by name", "FunctionList"),
)
async def list_functions(request: Request, principal: Caller) -> Response:
    functions = await app_context(request).service.functions.all(principal)
    return json_response({"items": [function_json(each) for each in functions], "next_cursor": None})


@router.get(
    "/functions/{name:path}",
    **describe_operation(
        "get_function", "One function: its arguments, and what its tasks start from", "Function", problems=(404,)
    ),
)
async def get_function(request: Request, principal: Caller, name: Annotated[str, Path(max_length=200)]) -> Response:
    return json_response(function_json(await app_context(request).service.functions.get(principal, name)))
