"""Schedule preview without a task: meaning, next fires and warnings."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...service.tasks.default_zone import assumed_zone
from ...service.tasks.previews import compute_preview
from ...web.language import request_language
from ...web.parameters import Body
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.tasks.previews import preview_json, read_question
from ..openapi import PREVIEW, Operation

routes: Final = RouteGroup("/v1/schedules", "schedules")


@routes.post(
    "/preview",
    Operation(
        "preview_schedule",
        "What a schedule means, when it fires, and warnings; nothing is stored",
        "Fires",
    ),
)
async def preview_schedule(
    request: Request, principal: Principal, body: Annotated[Any, Body("ScheduleQuestion", example=PREVIEW)]
) -> Response:
    question = read_question(body, await assumed_zone(app_context(request).service, principal))
    return json_response(
        preview_json(compute_preview(question, app_context(request).clock.now()), request_language(request))
    )
