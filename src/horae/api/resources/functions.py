"""Functions registered by nodes, as JSON: their arguments and the defaults of their tasks."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...service.tasks.functions.functions import KnownFunction
from ...service.tasks.functions.records import defaults_json, signature_json
from ...web.parameters import Path
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.instants import utc
from ..openapi import Operation


def function_json(known: KnownFunction) -> dict[str, Any]:
    registration = known.registration
    return {
        "name": registration.name,
        **signature_json(registration.signature),
        "defaults": defaults_json(registration.defaults),
        "registered": utc(registration.registered),
        "nodes": known.nodes,
        "uniform": known.same_signature and known.same_defaults,
    }


routes: Final = RouteGroup("/v1", "functions")


@routes.get(
    "/functions",
    Operation("list_functions", "The functions that nodes have registered, by name", "FunctionList"),
)
async def list_functions(request: Request, principal: Principal) -> Response:
    functions = await app_context(request).service.functions.all(principal)
    return json_response({"items": [function_json(each) for each in functions], "next_cursor": None})


@routes.get(
    "/functions/{name:path}",
    Operation(
        "get_function", "One function: its arguments, and what its tasks start from", "Function", problems=(404,)
    ),
)
async def get_function(request: Request, principal: Principal, name: Annotated[str, Path(max_length=200)]) -> Response:
    return json_response(function_json(await app_context(request).service.functions.get(principal, name)))
