"""Page that explains an instant of a task: the sentence, the runs that prove it, and commands that fix the cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...errors import NotFound, Refusal
from ...model.change import Facts
from ...service.runs.explanations import OccurrenceExplanation
from ...wire.tasks.fixes import Fix, fixes_for
from ..page import PageRequest, page
from ..tasks.texts import error_line, other_zone
from .tasks.task import load


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
    data: dict[str, Any] = {
        "page": "tasks",
        "task": task,
        "at": at,
        "why": why,
        "problem": None,
        "error_line": error_line,
    }
    if why is None:
        return data
    return data | {
        "sentence": why.explanation.in_language(viewer.language),
        "run": why.explanation.run,
        "zone": other_zone(viewer, task.schedule.zone, why.at),
        "fixes": [
            (fix.command, fix.does.in_language(viewer.language), _fix_action(request, why, fix))
            for fix in fixes_for(why, task.id)
        ],
    }


class FixAction(NamedTuple):
    """A form of the console that does what a command does; with `fields` None it is a link."""

    path: str
    fields: Mapping[str, str] | None = None


def _fix_action(request: PageRequest, why: OccurrenceExplanation, fix: Fix) -> FixAction | None:
    """Return the action or page of the console that fits a command; None if there is none, or no right to it."""
    viewer, task, run = request.viewer, why.facts.task, why.explanation.run
    path, at = f"/tasks/{task.id}", why.at.isoformat()
    match fix.verb:
        case "run" if viewer.can_run and "--as-of" in fix.command:
            return FixAction(f"{path}/backfill", {"from": at, "to": at})
        case "run" if viewer.can_run:
            return FixAction(f"{path}/run", {})
        case "skip" if viewer.can_run:
            return FixAction(f"{path}/skip", {"number": "0"})
        case "resume" if viewer.can_write:
            return FixAction(f"{path}?open=resume")
        case "edit" if viewer.can_write:
            return FixAction(f"{path}/edit")
        case "approve":
            return FixAction("/approvals")
        case "retry" | "logs" | "stop" if run is not None:
            return FixAction(f"/runs/{run.id}")
        case "lanes" | "lane" | "nodes" if viewer.is_admin:
            return FixAction("/lanes")
        case _:
            return None


ROUTES: Final = (page("/tasks/{id}/why", show),)
