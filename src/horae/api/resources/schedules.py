"""Schedule preview without a task: meaning, next fires and warnings."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...service.tasks.default_zone import assumed_zone
from ...service.tasks.previews import compute_preview
from ...web.authentication import Caller
from ...web.body import read_json_body
from ...web.language import request_language
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routers import resource_router
from ...wire.previews import preview_json, read_question
from ..examples import PREVIEW
from ..openapi import describe_operation

router: Final = resource_router("/v1/schedules", "schedules")


@router.post(
    "/preview",
    **describe_operation(
        "preview_schedule",
        "What a schedule means, when it fires, and warnings; nothing is stored",
        "Fires",
        request_body="ScheduleQuestion",
        example=PREVIEW,
    ),
)
async def preview_schedule(request: Request, principal: Caller) -> Response:
    question = read_question(await read_json_body(request), await assumed_zone(app_context(request).service, principal))
    return json_response(
        preview_json(compute_preview(question, app_context(request).clock.now()), request_language(request))
    )
