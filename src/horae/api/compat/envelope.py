"""Response envelope of `/schedules`: `success`, `code`, `message` and `data`."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...schedule.compat import Note
from ...web.language import language
from ...web.request_context import house_of
from ...web.responses import answer
from .notices import told
from .own_tasks import latest_runs
from .schedule_json import schedule_shown

_DONE: Final = {"en": "Done.", "zh": "操作成功。"}


def enclosed(request: Request, data: Any, status: int = 200) -> Response:
    now = house_of(request).clock.now()
    envelope = {
        "success": True,
        "code": 200,
        "message": _DONE[language(request)],
        "timestamp": int(now.timestamp() * 1000),
        "data": data,
    }
    return answer(envelope, status)


async def enclosed_task(
    request: Request, principal: Principal, facts: Facts, notes: tuple[Note, ...] = (), status: int = 200
) -> Response:
    """Respond with one schedule under two names: their server used `task`, and their clients read `schedule`."""
    (rendered,) = await shown_tasks(request, principal, [facts])
    if notes:
        rendered["warnings"] = told(notes, language(request))
    return enclosed(request, {"task": rendered, "schedule": rendered}, status)


async def shown_tasks(request: Request, principal: Principal, tasks: list[Facts]) -> list[dict[str, Any]]:
    context = house_of(request)
    now = context.clock.now()
    latest = await latest_runs(context.service, principal, tasks)
    return [schedule_shown(each, latest.get(each.task.id), now) for each in tasks]
