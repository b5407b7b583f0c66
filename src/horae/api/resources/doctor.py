"""Doctor: all checks that the server makes of its machine, settings, store, nodes and tasks."""

from __future__ import annotations

from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...web.language import request_language
from ...web.parameters import Query
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.doctor import report_json
from ..openapi import Operation

routes: Final = RouteGroup("/v1", "nodes")


@routes.get(
    "/doctor",
    Operation(
        "get_doctor",
        "The checks of `horae doctor`, made by the server (admins)",
        "DoctorReport",
        description="Sentences are in the language of `Accept-Language`. A report is shared for five seconds.",
    ),
)
async def get_doctor(
    request: Request,
    principal: Principal,
    *,
    only: Annotated[
        str | None, Query(choices=("durability",), description="`durability`: what the server of the store can lose.")
    ] = None,
) -> Response:
    doctor = app_context(request).service.doctor
    report = await (doctor.report(principal) if only is None else doctor.durability(principal))
    if report is None:
        raise AssertionError("a report without a limit to the patience")
    return json_response(report_json(report, request_language(request)))
