"""Run history of one task in the simple view: status, times, trace id, error and result; and running it now."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ...choices import Language
from ...model.ids import trace_id
from ...model.reason import describe_reason
from ...model.run import Run
from ...model.task import Target
from ...model.text.plain_text import cut, plain_text
from ...ports.store import RunFilter
from ...targets.run_errors import localized_error
from ...wire.tasks.text_tasks import answer_of
from ..page import PageRequest, form, page
from .simple import LIST, load_task, make_card, own_principal

PAGE_SIZE: Final = 20
PREVIEW_CHARACTERS: Final = 400
PREVIEW_LINES: Final = 8


class RunRow(NamedTuple):
    """A run as the history shows it. `result` None: it has none; `preview` is its beginning, where it is long."""

    run: Run
    trace_id: str
    duration: timedelta | None
    error: str
    result: str | None
    preview: str


async def show(request: PageRequest) -> Response:
    """Show a task with its newest runs, and those before them page by page."""
    facts, principal, query = await load_task(request), own_principal(request), request.request.query_params
    run_filter = RunFilter(principal.owner, facts.task.id)
    found = await request.service.runs.page(principal, run_filter, query.get("after") or None, PAGE_SIZE)
    latest = found.items[0] if found.items and not query.get("after") else None
    names = await request.service.tasks.predecessor_names(principal, [facts.task])
    data = {
        "page": "simple",
        "card": make_card(facts, latest, request.viewer, names),
        "rows": [_row(run, facts.task.target, request.viewer.language) for run in found.items],
        "query": {"after": query["after"]} if query.get("after") else {},
        "after": found.after,
    }
    return request.render("simple_task.html", data)


async def run_now(request: PageRequest) -> Response:
    facts = await load_task(request)
    await request.service.tasks.run_now(own_principal(request), facts.task.id)
    return request.redirect(f"{LIST}/{facts.task.id}", request.notice("simple_run_requested", task=facts.task.name))


def _row(run: Run, target: Target, language: Language) -> RunRow:
    result = format_result(answer_of(run, target))
    preview = "" if result is None else cut(result, PREVIEW_CHARACTERS, PREVIEW_LINES)
    duration = None if run.started is None or run.ended is None else run.ended - run.started
    return RunRow(run, trace_id(run), duration, _error(run, language), result, preview)


def _error(run: Run, language: Language) -> str:
    """Return the error, else the reason of a run that did not take place or was ended."""
    if run.error is not None:
        return plain_text(localized_error(run.error, language))
    return "" if run.reason is None else describe_reason(run.reason, language)


def format_result(result: Any) -> str | None:
    """Return a result as indented JSON, a text as it is; None where there is none."""
    if result is None:
        return None
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, indent=2)
    return plain_text(text)


ROUTES: Final = (
    page(f"{LIST}/{{task_id}}", show),
    form(f"{LIST}/{{task_id}}/run", run_now),
)
