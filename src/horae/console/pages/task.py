"""Task page: state and actions, 90 days as a heat map, lateness and duration, next fires, runs, definition and activity."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from ...errors import HoraeError
from ...model.accounts.principal import AGENT_LABEL, RESERVED_LABEL_PREFIX, TOKEN_LABEL, VIA_LABEL
from ...model.change import Facts
from ...model.reason import describe_reason
from ...model.run import Run
from ...model.task import OPEN_STATES, TaskState
from ...ports.store import RunFilter
from ...schedule.preview import Fire
from ...service.accounts.audit import AuditRow
from ...service.tasks.catch_up_previews import compute_resume_choices, count_backfill_left
from ...service.tasks.previews import compute_task_preview
from ...wire.tasks import definition_json, next_due
from ..formats import format_day
from ..messages import TEXTS
from ..page import PageRequest, page
from ..task_charts import (
    CELL,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    SEVERITY,
    Day,
    HeatMap,
    Measured,
    Plot,
    count_days,
    final_attempts,
    heat_map,
    mark_path,
    outcome_kind,
    percentile,
    scatter_plot,
)
from ..task_texts import describe_pause, describe_wait, describe_when, error_line, other_zone, outcome_label
from ..viewer import Viewer

DAYS: Final = 90
MAX_RUNS: Final = 3_000
"""Newest runs that the charts of a task read at most."""
MAX_POINTS: Final = 150
_FIRES: Final = 5
_RUNS: Final = 25
_AUDIT_ROWS: Final = 1_000
"""Newest rows of the audit trail that are searched for those about a task."""
_DIGITS: Final = 10
_MAX_TEXT: Final = 65_536
"""Characters of a definition that are shown."""
TABS: Final = ("runs", "definition", "activity")


class Heat(NamedTuple):
    """The heat map, with a label and a link for each day, and the counts of its table."""

    chart: HeatMap
    labels: tuple[tuple[str, str], ...]
    totals: dict[str, int]
    is_cut: bool


class Measures(NamedTuple):
    """Lateness and duration of the newest runs that have started."""

    runs: tuple[Run, ...]
    lateness: Plot | None
    duration: Plot | None
    lateness_p50: timedelta | None
    lateness_p99: timedelta | None
    duration_p50: timedelta | None
    duration_p99: timedelta | None


async def show(request: PageRequest) -> Response:
    facts = await load(request)
    return request.render("task.html", await task_data(request, facts))


async def load(request: PageRequest) -> Facts:
    """Return the task of the path; absent and foreign ones are refused alike."""
    return await request.service.tasks.get(request.viewer.principal, request.request.path_params["id"])


async def refused(request: PageRequest, facts: Facts, refusal: HoraeError, opened: str) -> Response:
    """Show the task again with the form `opened`, its input and the problem."""
    data = await task_data(request, facts)
    return request.render_refused("task.html", {**data, "opened": opened, "values": request.form}, refusal)


async def task_data(request: PageRequest, facts: Facts) -> dict[str, Any]:
    viewer, task = request.viewer, facts.task
    runs = await _newest_runs(request, facts)
    query = request.request.query_params
    tab = query.get("tab", TABS[0])
    due = next_due(facts)
    when, meaning = describe_when(task.schedule, viewer.language)
    return {
        "page": "tasks",
        "problem": None,
        "opened": query.get("open", ""),
        "values": {},
        "task": task,
        "status": facts.status,
        "live": facts.live,
        "when": when,
        "meaning": meaning,
        "pause": describe_pause(viewer, facts.status.pause),
        "waits": describe_wait(viewer, facts),
        "next": due,
        "next_zone": other_zone(viewer, task.schedule.zone, due),
        "reason": None if facts.status.reason is None else describe_reason(facts.status.reason, viewer.language),
        **_fires(viewer, facts),
        "is_open": facts.status.state in OPEN_STATES,
        "can_pause": facts.status.state in OPEN_STATES,
        "can_resume": facts.status.state in (TaskState.PAUSED, TaskState.FAILED),
        "choices": compute_resume_choices(facts, viewer.now),
        "backfill_left": count_backfill_left(facts),
        "backfill_total": int(total)
        if (total := query.get("backfill", "")).isdecimal() and len(total) < _DIGITS
        else 0,
        "labels": {name: value for name, value in task.labels if not name.startswith(RESERVED_LABEL_PREFIX)},
        "origin": _origin(facts),
        "heat": _heat(viewer, facts, runs),
        "measures": _measures(viewer, facts, runs),
        "kinds": SEVERITY,
        "legend": [(kind, mark_path(kind, 3, 3, CELL - 6, CELL - 6)) for kind in reversed(SEVERITY)],
        "cell_size": CELL,
        "error_line": error_line,
        "plot_width": PLOT_WIDTH,
        "plot_height": PLOT_HEIGHT,
        "max_runs": MAX_RUNS,
        "tab": tab if tab in TABS else TABS[0],
        "tabs": TABS,
        **await _tab_data(request, facts, tab),
    }


async def _newest_runs(request: PageRequest, facts: Facts) -> tuple[Run, ...]:
    since = _midnight(request.viewer, _today(request.viewer) - timedelta(days=DAYS - 1))
    found = await request.service.tasks.outcomes(request.viewer.principal, [facts], MAX_RUNS, since)
    return found.get(facts.task.id, ())


async def _tab_data(request: PageRequest, facts: Facts, tab: str) -> dict[str, Any]:
    principal, after = request.viewer.principal, request.request.query_params.get("after")
    query = {"tab": "runs", **({"after": after} if after else {})}
    if tab == "definition":
        text = json.dumps(definition_json(facts.task), indent=2, ensure_ascii=False)
        return {"definition": text[:_MAX_TEXT], "is_text_cut": len(text) > _MAX_TEXT, "query": query}
    if tab == "activity":
        trail = await request.service.audit.page(principal, None, _AUDIT_ROWS)
        rows: list[AuditRow] = [row for row in trail.items if row.subject == facts.task.id]
        return {"audit": rows, "audit_searched": _AUDIT_ROWS if trail.after else 0, "query": query}
    listed = await request.service.runs.page(principal, RunFilter(task_id=facts.task.id), after or None, _RUNS)
    return {"runs": listed.items, "after": listed.after, "query": query}


def _fires(viewer: Viewer, facts: Facts) -> dict[str, Any]:
    """Return the next planned instants, each with the zone of the task where it differs, and whether it is skipped."""
    if facts.status.state not in OPEN_STATES:
        return {"fires": [], "warnings": []}
    preview = compute_task_preview(facts.task, facts.status, viewer.now, _FIRES)
    fires: list[tuple[Fire, str | None, bool]] = [
        (fire, other_zone(viewer, facts.task.schedule.zone, fire.utc), number < facts.status.skips_left)
        for number, fire in enumerate(preview.fires)
    ]
    return {"fires": fires, "warnings": [each.in_language(viewer.language) for each in preview.warnings]}


def _origin(facts: Facts) -> dict[str, str]:
    """Return through which front end, agent and token the task was made, as far as it is known."""
    labels = dict(facts.task.labels)
    names = {"via": VIA_LABEL, "agent": AGENT_LABEL, "token": TOKEN_LABEL}
    return {name: labels[label] for name, label in names.items() if label in labels}


# --- charts --------------------------------------------------------------------------------------------------------


def _today(viewer: Viewer) -> date:
    return viewer.now.astimezone(viewer.tz).date()


def _midnight(viewer: Viewer, day: date) -> datetime:
    return datetime.combine(day, time(), viewer.tz).astimezone(UTC)


def _heat(viewer: Viewer, facts: Facts, runs: Sequence[Run]) -> Heat:
    today, tz = _today(viewer), viewer.tz
    days = count_days(
        final_attempts(runs), today - timedelta(days=DAYS - 1), today, lambda at: at.astimezone(tz).date()
    )
    labels = tuple((_day_label(viewer, day, today), _day_link(viewer, facts, day.day)) for day in days)
    totals = {kind: sum(day.counts.get(kind, 0) for day in days) for kind in SEVERITY}
    return Heat(heat_map(days), labels, totals, len(runs) >= MAX_RUNS)


def _day_label(viewer: Viewer, day: Day, today: date) -> str:
    name = format_day(datetime.combine(day.day, time()), datetime.combine(today, time()), viewer.language)
    counts = [f"{kind_name(viewer, kind)} {number}" for kind, number in day.counts.items()]
    return f"{name}: {', '.join(counts) or TEXTS['task_no_runs'].in_language(viewer.language)}"


def kind_name(viewer: Viewer, kind: str) -> str:
    return TEXTS[f"outcome_{kind}"].in_language(viewer.language)


def _day_link(viewer: Viewer, facts: Facts, day: date) -> str:
    return viewer.url("/runs", q=f"task:{facts.task.id} planned:{day.isoformat()}", tz=viewer.zone)


def _measures(viewer: Viewer, facts: Facts, runs: Sequence[Run]) -> Measures:
    started = tuple(run for run in runs if run.started is not None)[:MAX_POINTS]
    lateness = [(run, run.lateness) for run in started if run.lateness is not None]
    duration = [(run, run.ended - run.started) for run in started if run.started and run.ended]

    def plot(values: Sequence[tuple[Run, timedelta]]) -> Plot | None:
        return scatter_plot([_measured(viewer, facts, run, value) for run, value in values])

    late, long = [value for _, value in lateness], [value for _, value in duration]
    shares = [percentile(values, share) for values in (late, long) for share in (0.5, 0.99)]
    return Measures(started, plot(lateness), plot(duration), *shares)


def _measured(viewer: Viewer, facts: Facts, run: Run, value: timedelta) -> Measured:
    href = viewer.url(f"/tasks/{quote(facts.task.id)}/why", at=run.planned.isoformat())
    return Measured(run.planned, value, outcome_kind(run), outcome_label(viewer, run), href)


ROUTES: Final = (page("/tasks/{id}", show),)
