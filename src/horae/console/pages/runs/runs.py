"""Runs page: filtered list with keyset pagination, failures grouped by error, and retry of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ....errors import Refusal
from ....model.accounts.principal import Scope
from ....model.lanes.lane import OWNER_LANE_PREFIX, owner_lane_prefix
from ....model.page import Page
from ....model.reason import reason_phrase
from ....model.run import Run
from ....model.text.plain_text import first_line
from ....service.runs.failures import MAX_FAILURES, FailureGroup, FailureGroups, RetryReport
from ....state_names import state_name
from ....wire.problems import sentence_of
from ...outcomes import run_sign
from ...page import PageRequest, form, page
from ...run_query import RunQuery, build_run_filter, read_run_query
from ...saved_views import view_forms

PAGE_SIZE: Final = 50
MAX_SHOWN_GROUPS: Final = 100
MAX_SHOWN_RUNS: Final = 100
"""Runs of one group that are listed."""
UNCONFIRMED_RETRIES: Final = 20
"""Retries of a group without a typed confirmation."""
_SHOWN_TASKS: Final = 3
_LIST: Final = "runs"
"""Name of the list among the saved views."""
_STATES: Final = ("failed", "timed_out", "lost", "running", "succeeded", "skipped", "cancelled")
"""States that the page offers as links."""


class RunRow(NamedTuple):
    """One row of the list. `name` is the task's name, or its id where the task is gone."""

    run: Run
    name: str
    duration: timedelta | None
    error: str
    lanes: tuple[str, ...]
    note: str


class GroupRow(NamedTuple):
    group: FailureGroup
    title: str
    tasks: tuple[tuple[str, str], ...]
    more_tasks: int


async def show(request: PageRequest) -> Response:
    """Show the runs of a filter; with `?group=error` failures by error, with `?error=KEY` the runs of one group."""
    parameters = request.request.query_params
    query = read_run_query(parameters)
    try:
        if parameters.get("error"):
            return await _show_group(request, query, parameters["error"])
        if parameters.get("group") == "error":
            return await _show_groups(request, query)
        run_filter = await build_run_filter(request, query)
        found = await request.service.runs.page(
            query.reader(request.viewer.principal), run_filter, parameters.get("after") or None, PAGE_SIZE
        )
    except Refusal as error:
        return request.render_refused("runs.html", await _list_data(request, query, Page(())), error)
    return request.render("runs.html", await _list_data(request, query, found))


async def _list_data(request: PageRequest, query: RunQuery, found: Page[Run]) -> dict[str, Any]:
    after = request.request.query_params.get("after")
    return {
        **_frame_data(query),
        "rows": await load_rows(request, found.items),
        "after": found.after,
        "position": {"after": after} if after else {},
        "views": await request.service.views.all(request.viewer.principal, _LIST),
        "states": [(state, state_name(state, request.viewer.language).replace("_", " ")) for state in _STATES],
    }


def _frame_data(query: RunQuery) -> dict[str, Any]:
    return {"page": "runs", "query": query, "parameters": query.parameters, "problem": None}


async def _show_groups(request: PageRequest, query: RunQuery) -> Response:
    found = await _load_groups(request, query)
    shown = found.groups[:MAX_SHOWN_GROUPS]
    ids = [task_id for group in shown for task_id in group.task_ids[:_SHOWN_TASKS]]
    names = await request.service.tasks.names(request.viewer.principal, ids)
    data = {
        **_frame_data(query),
        "found": found,
        "groups": [_group_row(request, group, names) for group in shown],
        "most": MAX_FAILURES,
    }
    return request.render("run_groups.html", data)


async def _show_group(request: PageRequest, query: RunQuery, key: str) -> Response:
    found = await _load_groups(request, query)
    group = found.find(key)
    runs = () if group is None else group.runs
    data = {
        **_frame_data(query),
        "found": found,
        "group": group,
        "title": "" if group is None else _title(request, group),
        "rows": await load_rows(request, runs[:MAX_SHOWN_RUNS]),
        "shown": MAX_SHOWN_RUNS,
        "most": MAX_FAILURES,
        "key": key,
    }
    return request.render("run_group.html", data)


async def _load_groups(request: PageRequest, query: RunQuery) -> FailureGroups:
    run_filter = await build_run_filter(request, query)
    return await request.service.failures.groups(query.reader(request.viewer.principal), run_filter)


def _group_row(request: PageRequest, group: FailureGroup, names: dict[str, str]) -> GroupRow:
    ids = group.task_ids
    tasks = tuple((task_id, names.get(task_id, task_id)) for task_id in ids[:_SHOWN_TASKS])
    return GroupRow(group, _title(request, group), tasks, len(ids) - len(tasks))


def _title(request: PageRequest, group: FailureGroup) -> str:
    """Return the shape of the error; of runs without an error, the reason in words."""
    if group.newest.error:
        return group.pattern
    reason = group.newest.reason
    return group.pattern if reason is None else reason_phrase(reason, request.viewer.language)


async def retry_group(request: PageRequest) -> Response:
    """Retry the occurrences of a group; above a bound the number has to be typed on a page that lists them first."""
    query, key = read_run_query(request.form), request.form.text("error")
    request.viewer.principal.require_scope(Scope.RUN)
    group = (await _load_groups(request, query)).find(key)
    if group is None:
        return request.redirect("/runs", request.notice("runs_group_gone"), group="error", **query.parameters)
    count, typed = len(group.occurrences), request.form.text("confirm")
    if count > UNCONFIRMED_RETRIES and typed != str(count):
        return await _confirm(request, query, group, is_wrong=bool(typed))
    report = await request.service.failures.retry(request.viewer.principal, [run.id for run in group.occurrences])
    return await _show_report(request, query, group, report)


async def _confirm(request: PageRequest, query: RunQuery, group: FailureGroup, *, is_wrong: bool) -> Response:
    occurrences = group.occurrences
    data = {
        **_frame_data(query),
        "group": group,
        "title": _title(request, group),
        "count": len(occurrences),
        "rows": await load_rows(request, occurrences[:UNCONFIRMED_RETRIES]),
        "is_wrong": is_wrong,
    }
    return request.render("run_retry_confirm.html", data, 422 if is_wrong else 200)


async def _show_report(request: PageRequest, query: RunQuery, group: FailureGroup, report: RetryReport) -> Response:
    rows = {row.run.id: row for row in await load_rows(request, group.occurrences)}
    refused = [(rows[each.run_id], sentence_of(each.error, request.viewer.language)) for each in report.refused]
    data = {
        **_frame_data(query),
        "title": _title(request, group),
        "report": report,
        "retried": [rows[run_id] for run_id in report.retried],
        "refused": refused,
    }
    return request.render("run_retry_report.html", data)


async def load_rows(request: PageRequest, runs: Sequence[Run]) -> list[RunRow]:
    """Return rows of runs with the names of their tasks, which are read at once."""
    names = await request.service.tasks.names(request.viewer.principal, [run.task_id for run in runs])
    return [_row(request, run, names.get(run.task_id, run.task_id)) for run in runs]


def _row(request: PageRequest, run: Run, name: str) -> RunRow:
    language = request.viewer.language
    note = "" if run.reason is None else reason_phrase(run.reason, language)
    if note == run_sign(run, language).word:
        note = ""
    error = first_line(run.error or "")
    return RunRow(run, name, duration_of(run, request.viewer.now), error, shown_lanes(run.lanes, run.owner), note)


def duration_of(run: Run, now: datetime) -> timedelta | None:
    """Return how long a run took, or takes so far; None if it never started."""
    return None if run.started is None else (run.ended or now) - run.started


def shown_lanes(lanes: Iterable[str], owner: str) -> tuple[str, ...]:
    """Return the lanes of a run as its owner names them, without the lane of the owner's quota."""
    return tuple(
        lane.removeprefix(owner_lane_prefix(owner)) for lane in lanes if not lane.startswith(OWNER_LANE_PREFIX)
    )


ROUTES: Final = (
    page("/runs", show),
    form("/runs/retry-group", retry_group),
    *view_forms(_LIST),
)
