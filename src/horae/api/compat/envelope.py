"""Response envelope of `/schedules`: `success`, `code`, `message` and `data`."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...schedule.compat import Note
from ...web.language import request_language
from ...web.request_context import app_context
from ...web.responses import json_response
from .notices import render_notes
from .own_tasks import latest_runs
from .schedule_json import render_schedule

_DONE: Final = {"en": "Done.", "zh": "操作成功。"}


def envelope_response(request: Request, data: Any, status: int = 200) -> Response:
    now = app_context(request).clock.now()
    envelope = {
        "success": True,
        "code": 200,
        "message": _DONE[request_language(request)],
        "timestamp": int(now.timestamp() * 1000),
        "data": data,
    }
    return json_response(envelope, status)


async def schedule_response(
    request: Request, principal: Principal, facts: Facts, notes: tuple[Note, ...] = (), status: int = 200
) -> Response:
    """Respond with one schedule under two names: their server used `task`, and their clients read `schedule`."""
    (rendered,) = await render_schedules(request, principal, [facts])
    if notes:
        rendered["warnings"] = render_notes(notes, request_language(request))
    return envelope_response(request, {"task": rendered, "schedule": rendered}, status)


async def render_schedules(request: Request, principal: Principal, tasks: list[Facts]) -> list[dict[str, Any]]:
    context = app_context(request)
    now = context.clock.now()
    latest = await latest_runs(context.service, principal, tasks)
    return [render_schedule(each, latest.get(each.task.id), now) for each in tasks]
