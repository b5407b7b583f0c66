"""Geometry of the charts of a task, and its texts: pure functions, without a browser."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from horae.console.tasks.charts import (
    CELL_STEP,
    HEAT_LEFT,
    HEAT_TOP,
    MARK_STEP,
    PLOT_HEIGHT,
    PLOT_WIDTH,
    SEVERITY,
    Measured,
    add_late,
    count_days,
    final_attempts,
    heat_map,
    mark_path,
    outcome_kind,
    outcome_marks,
    percentile,
    scatter_plot,
)
from horae.console.tasks.texts import describe_when, error_line
from horae.model.reason import Reason
from horae.model.run import Run, RunState, Span
from horae.schedule.text import parse_text
from horae.testing.factories import DAY, HOUR, NOON, a_run, a_task, an_ended_run

TASK = a_task()


def _run(state: RunState, reason: Reason | None = None, hours: int = 0, attempt: int = 1) -> Run:
    return an_ended_run(TASK, planned=NOON + hours * HOUR, attempt=attempt)._replace(state=state, reason=reason)


def _utc_day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def test_every_state_has_a_kind_with_its_own_shape() -> None:
    kinds = {outcome_kind(_run(state)) for state in RunState} | {
        outcome_kind(_run(RunState.SKIPPED, Reason.MISSED_SKIPPED))
    }
    assert kinds == set(SEVERITY)
    shapes = {kind: mark_path(kind, 0, 0, 6, 14) for kind in SEVERITY}
    assert len({shapes[kind] for kind in ("succeeded", "failed", "timed_out", "missed", "cancelled")}) == 5


def test_newest_outcome_is_at_the_right_end() -> None:
    runs = [_run(RunState.FAILED, hours=2), _run(RunState.SUCCEEDED, hours=1), _run(RunState.SUCCEEDED)]
    marks = outcome_marks(runs, lambda run: run.id, lambda run: f"/runs/{run.id}", 2)
    assert [mark.kind for mark in marks] == ["succeeded", "failed"]
    assert [mark.x for mark in marks] == [0, MARK_STEP]
    assert marks[-1].href == f"/runs/{runs[0].id}"


def test_a_retried_occurrence_counts_by_its_last_attempt() -> None:
    runs = [_run(RunState.SUCCEEDED, attempt=2), _run(RunState.FAILED, attempt=1)]
    (day,) = count_days(final_attempts(runs), NOON.date(), NOON.date(), _utc_day)
    assert (day.counts, day.worst, day.total) == ({"succeeded": 1}, "succeeded", 1)


def test_the_worst_outcome_of_a_day_wins() -> None:
    runs = [_run(RunState.SUCCEEDED), _run(RunState.FAILED, hours=1), _run(RunState.SKIPPED, Reason.STALE, hours=2)]
    (day,) = count_days(runs, NOON.date(), NOON.date(), _utc_day)
    assert day.worst == "failed"
    assert day.counts == {"succeeded": 1, "failed": 1, "missed": 1}


def test_a_day_with_a_late_first_attempt_has_a_ring() -> None:
    second = timedelta(seconds=1)
    late = _run(RunState.FAILED)._replace(due=NOON, started=NOON + 3 * second)
    retried = _run(RunState.SUCCEEDED, attempt=2)._replace(due=NOON, started=NOON + 20 * second)
    on_time = _run(RunState.FAILED, hours=24)._replace(due=NOON + DAY, started=NOON + DAY + second)
    retried_later = _run(RunState.SUCCEEDED, hours=24, attempt=2)._replace(
        due=NOON + DAY, started=NOON + DAY + 9 * second
    )
    runs = [retried_later, on_time, retried, late]
    counted = count_days(final_attempts(runs), NOON.date(), NOON.date() + DAY, _utc_day)
    days = add_late(counted, runs, timedelta(seconds=1), _utc_day)
    assert [(day.late, day.worst) for day in days] == [(1, "succeeded"), (0, "succeeded")]
    assert [cell.ring is not None for cell in heat_map(days).cells] == [True, False]


def test_a_span_marks_every_day_that_it_covers() -> None:
    span = Span(NOON, NOON + 2 * DAY, 30)
    row = a_run(TASK, planned=span.last, state=RunState.SKIPPED, reason=Reason.PAUSED, started=None)._replace(span=span)
    days = count_days([row], NOON.date() - DAY, NOON.date() + 3 * DAY, _utc_day)
    assert [day.counts.get("skipped", 0) for day in days] == [0, 10, 10, 10, 0]


def test_heat_map_has_weekdays_as_rows_and_weeks_as_columns() -> None:
    monday = date(2026, 11, 16)
    chart = heat_map(count_days([], monday - timedelta(days=1), monday + timedelta(days=7), _utc_day))
    places = [((cell.x - HEAT_LEFT) // CELL_STEP, (cell.y - HEAT_TOP) // CELL_STEP) for cell in chart.cells]
    assert places == [(0, 6), *((1, row) for row in range(7)), (2, 0)]
    assert {cell.path for cell in chart.cells} == {None}


def test_plot_is_logarithmic_and_stays_within_its_box() -> None:
    values = [timedelta(0), timedelta(milliseconds=1), timedelta(milliseconds=100), timedelta(days=3)]
    plot = scatter_plot([Measured(NOON + n * HOUR, each, "succeeded", "", "") for n, each in enumerate(values)])
    assert plot is not None
    heights = [point.y for point in plot.points]
    assert heights[0] == heights[1] > heights[2] > heights[3] > 0
    assert all(0 <= point.x <= PLOT_WIDTH and 0 <= point.y <= PLOT_HEIGHT for point in plot.points)
    assert all(0 <= y <= PLOT_HEIGHT for y, _ in plot.ticks)
    assert scatter_plot([]) is None


def test_percentiles_are_values_of_the_sample() -> None:
    values = [timedelta(seconds=number) for number in range(100, 0, -1)]
    assert percentile(values, 0.5) == timedelta(seconds=50)
    assert percentile(values, 0.99) == timedelta(seconds=99)
    assert percentile(values[:1], 0.99) == timedelta(seconds=100)
    assert percentile([], 0.5) is None


@pytest.mark.parametrize(
    ("text", "english", "chinese"),
    [
        ("every weekday at 9am", "Monday to Friday at 09:00 Shanghai", "周一至周五 09:00 Shanghai"),
        ("every 5m", "every 5 minutes", "每 5 分钟"),
        ("in 20 minutes", "at 2026-11-15 20:20 +08:00", "2026-11-15 20:20 +08:00"),
    ],
)
def test_sentence_of_a_schedule_names_the_city_where_it_matters(text: str, english: str, chinese: str) -> None:
    now = datetime(2026, 11, 15, 12, 0, 0, 284_387, UTC)
    schedule = parse_text(text, zone="Asia/Shanghai", now=now).schedule.with_defaults("Asia/Shanghai")
    assert describe_when(schedule, "en")[0] == english
    assert describe_when(schedule, "zh")[0] == chinese


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (None, ""),
        ("ValueError: bad\nTraceback", "ValueError: bad"),
        ("\x1b[1;31mred\x1b[0m text", "red text"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("bell\x07 and null\x00", "bell and null"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_error_line_has_no_escape_sequences(error: str | None, line: str) -> None:
    assert error_line(_run(RunState.FAILED)._replace(error=error)) == line
