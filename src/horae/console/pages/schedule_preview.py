"""Schedule preview: what a text means, as a page of its own and as the fragment that the task form asks for."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from ...errors import Refusal
from ..page import PageRequest, page
from ..tasks.form import is_same_schedule
from ..tasks.schedule_fields import PREFIX, text_of_fields
from ..tasks.schedule_preview import fields_problem, preview_task, preview_text


async def show(request: PageRequest) -> Response:
    """Preview `?when=…&zone=…`; with `&task=ID` as the new schedule of a task; with `&do=fields` from structured fields."""
    query = request.request.query_params
    when, zone = query.get("choose") or query.get("when", ""), query.get("zone", "")
    task_id = query.get("task") or None
    facts = None if task_id is None else await request.service.tasks.get(request.viewer.principal, task_id)
    task = None if facts is None else facts.task
    if query.get("do") == "fields":
        current = await preview_text(request, when, zone, task)
        days = [value for name, value in query.multi_items() if name == f"{PREFIX}.days"]
        try:
            when = text_of_fields(query, days, request.viewer.language, current.schedule)
        except Refusal as refusal:
            preview = fields_problem(request, when, zone, refusal)
            return request.render("schedule_preview.html", {"page": "tasks", "preview": preview})
    if task is not None and is_same_schedule({"when": when, "zone": zone}, task):
        preview = await preview_task(request, when, zone, task.id)
    else:
        preview = await preview_text(request, when, zone, task)
    return request.render("schedule_preview.html", {"page": "tasks", "preview": preview})


ROUTES: Final = (page("/schedule-preview", show),)
