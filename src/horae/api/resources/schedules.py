"""Schedule preview without a task: meaning, next fires and warnings."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ...service.tasks.default_zone import assumed_zone
from ...service.tasks.previews import preview
from ...web.authentication import Who
from ...web.body import json_body
from ...web.language import language
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.previews import preview_json, read_question
from ..examples import PREVIEW
from ..openapi import told

router: Final = resource("/v1/schedules", "schedules")


@router.post(
    "/preview",
    **told(
        "preview_schedule",
        "What a schedule means, when it fires, and warnings; nothing is stored",
        "Fires",
        request_body="ScheduleQuestion",
        example=PREVIEW,
    ),
)
async def preview_schedule(request: Request, principal: Who) -> Response:
    question = read_question(await json_body(request), await assumed_zone(house_of(request).service, principal))
    return answer(preview_json(preview(question, house_of(request).clock.now()), language(request)))
