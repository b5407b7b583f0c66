"""Charts of the task page: heat map of 90 days, lateness and duration of the newest runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from ....model.change import Facts
from ....model.run import Run
from ....service.runs.overview import ON_TIME_LIMIT
from ...formats import format_day
from ...messages import TEXTS
from ...page import PageRequest
from ...tasks.charts import (
    CELL,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    SEVERITY,
    Day,
    HeatMap,
    LocalDays,
    Measured,
    Plot,
    add_late,
    count_days,
    final_attempts,
    heat_map,
    mark_path,
    outcome_kind,
    percentile,
    ring_path,
    scatter_plot,
)
from ...tasks.texts import outcome_label
from ...viewer import Viewer

DAYS: Final = 90
MAX_RUNS: Final = 2_400
"""Newest runs that the charts read at most: 90 days of an hourly task fit."""
MAX_POINTS: Final = 100


class Heat(NamedTuple):
    """The heat map, with a label and a link for each day, and the counts of its table."""

    chart: HeatMap
    labels: tuple[tuple[str, str], ...]
    totals: dict[str, int]
    late: int
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


async def chart_data(request: PageRequest, facts: Facts) -> dict[str, Any]:
    viewer, runs = request.viewer, await _newest_runs(request, facts)
    return {
        "heat": _heat(viewer, facts, runs),
        "measures": _measures(viewer, facts, runs),
        "kinds": SEVERITY,
        "legend": [(kind, mark_path(kind, 3, 3, CELL - 6, CELL - 6)) for kind in reversed(SEVERITY)],
        "cell_size": CELL,
        "ring": ring_path(0, 0),
        "late_limit": ON_TIME_LIMIT,
        "plot_width": PLOT_WIDTH,
        "plot_height": PLOT_HEIGHT,
        "max_runs": MAX_RUNS,
    }


async def _newest_runs(request: PageRequest, facts: Facts) -> tuple[Run, ...]:
    since = _midnight(request.viewer, _today(request.viewer) - timedelta(days=DAYS - 1))
    found = await request.service.tasks.outcomes(request.viewer.principal, [facts], MAX_RUNS, since)
    return found.get(facts.task.id, ())


def _today(viewer: Viewer) -> date:
    return viewer.now.astimezone(viewer.tz).date()


def _midnight(viewer: Viewer, day: date) -> datetime:
    return datetime.combine(day, time(), viewer.tz).astimezone(UTC)


def _heat(viewer: Viewer, facts: Facts, runs: Sequence[Run]) -> Heat:
    today = _today(viewer)
    first = today - timedelta(days=DAYS - 1)
    local_day = LocalDays(first, today, viewer.tz).find
    days = add_late(count_days(final_attempts(runs), first, today, local_day), runs, ON_TIME_LIMIT, local_day)
    labels = tuple((_day_label(viewer, day, today), _day_link(viewer, facts, day.day)) for day in days)
    totals = {kind: sum(day.counts.get(kind, 0) for day in days) for kind in SEVERITY}
    return Heat(heat_map(days), labels, totals, sum(day.late for day in days), len(runs) >= MAX_RUNS)


def _day_label(viewer: Viewer, day: Day, today: date) -> str:
    name = format_day(datetime.combine(day.day, time()), datetime.combine(today, time()), viewer.language)
    counts = [f"{_kind_name(viewer, kind)} {number}" for kind, number in day.counts.items()]
    if day.late:
        counts.append(f"{TEXTS['task_late'].in_language(viewer.language)} {day.late}")
    return f"{name}: {', '.join(counts) or TEXTS['task_no_runs'].in_language(viewer.language)}"


def _kind_name(viewer: Viewer, kind: str) -> str:
    return TEXTS[f"outcome_{kind}"].in_language(viewer.language)


def _day_link(viewer: Viewer, facts: Facts, day: date) -> str:
    return viewer.url("/runs", q=f"task:{facts.task.id} planned:{day.isoformat()}", tz=viewer.zone)


def _measures(viewer: Viewer, facts: Facts, runs: Sequence[Run]) -> Measures:
    started = tuple(run for run in runs if run.started is not None)[:MAX_POINTS]
    lateness = [(run, run.lateness) for run in started if run.lateness is not None]
    duration = [(run, run.ended - run.started) for run in started if run.started and run.ended]

    why = viewer.url(f"/tasks/{quote(facts.task.id)}/why")
    marks = {run.id: (outcome_kind(run), outcome_label(viewer, run), _why_link(why, run.planned)) for run in started}

    def plot(values: Sequence[tuple[Run, timedelta]]) -> Plot | None:
        return scatter_plot([Measured(run.planned, value, *marks[run.id]) for run, value in values])

    late, long = [value for _, value in lateness], [value for _, value in duration]
    shares = [percentile(values, share) for values in (late, long) for share in (0.5, 0.99)]
    return Measures(started, plot(lateness), plot(duration), *shares)


def _why_link(why: str, planned: datetime) -> str:
    return f"{why}?at={quote(planned.isoformat(), safe='')}"
