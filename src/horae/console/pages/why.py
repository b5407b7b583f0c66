"""Page that explains an instant of a task: the sentence, the runs that prove it, and commands that fix the cause."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from ...errors import NotFound, Refusal
from ...model.change import Facts
from ...service.runs.explanations import OccurrenceExplanation
from ...wire.fixes import fixes_for
from ..page import PageRequest, page
from ..task_texts import other_zone
from .task import load


async def show(request: PageRequest) -> Response:
    viewer, at = request.viewer, request.request.query_params.get("at", "").strip()
    facts = await load(request)
    try:
        why = await request.service.explanations.explain(viewer.principal, facts.task.id, at or None, viewer.zone)
    except NotFound:
        raise
    except Refusal as refusal:
        return request.render_refused("why.html", _data(request, facts, at, None), refusal)
    return request.render("why.html", _data(request, facts, at, why))


def _data(request: PageRequest, facts: Facts, at: str, why: OccurrenceExplanation | None) -> dict[str, Any]:
    viewer, task = request.viewer, facts.task
    data: dict[str, Any] = {"page": "tasks", "task": task, "at": at, "why": why, "problem": None}
    if why is None:
        return data
    return data | {
        "sentence": why.explanation.in_language(viewer.language),
        "run": why.explanation.run,
        "zone": other_zone(viewer, task.schedule.zone, why.at),
        "fixes": [(fix.command, fix.does.in_language(viewer.language)) for fix in fixes_for(why, task.id)],
    }


ROUTES: Final = (page("/tasks/{id}/why", show),)
