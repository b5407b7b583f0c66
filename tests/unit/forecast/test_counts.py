"""Counts of a forecast equal the planned instants of the schedules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import horae
from horae.model.reason import Reason
from horae.schedule import Every
from tests.unit.forecast.forecast_setup import START, a_task, run_forecast

BERLIN = "Europe/Berlin"
BEFORE_SPRING = datetime(2026, 3, 28, 12, tzinfo=UTC)
BEFORE_AUTUMN = datetime(2026, 10, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize("start", [START, BEFORE_SPRING, BEFORE_AUTUMN])
@pytest.mark.parametrize(
    "text",
    [
        "*/20 * * * *",
        "30 2 * * *",
        "every 7m",
        "every weekday at 9am",
        "每30分钟",
        "RRULE:FREQ=HOURLY;BYMINUTE=15;BYSECOND=0",
        "every day at 02:30 with fold both",
        "every hour until 2026-06-01",
        "every 10m, 5 times",
        "every 3h from 2026-06-01 09:00",
    ],
)
def test_planned_instants_equal_the_preview(text: str, start: datetime) -> None:
    expected = horae.preview(text, zone=BERLIN, after=start, until=start + timedelta(days=2), limit=None)
    report = run_forecast(a_task("it", text), span="2d", start=start, zone=BERLIN)
    (task,) = report.tasks
    assert (task.planned, task.ran, dict(task.skipped), task.waiting) == (len(expected), len(expected), {}, 0)
    assert [began.planned for began in report.first_starts] == expected[:100]
    assert all(began.at == began.planned for began in report.first_starts)
    assert task.lateness_max == timedelta(0)


minute = st.integers(0, 59).map(str) | st.sampled_from(["*/15", "*/7", "5,35"])
hour = st.integers(0, 23).map(str) | st.sampled_from(["*", "*/6", "8-17"])


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(minute, hour), min_size=1, max_size=4),
    st.integers(0, 600),
    st.sampled_from(["skip", "queue", "queue_all", "replace", "parallel"]),
    st.sampled_from([None, "narrow"]),
    st.integers(1, 3),
)
def test_every_planned_instant_is_accounted_for(
    times: list[tuple[str, str]], takes: int, overlap: str, lane: str | None, capacity: int
) -> None:
    texts = [f"{minutes} {hours} * * *" for minutes, hours in times]
    tasks = [a_task(text, text, takes, lane=lane, overlap=overlap) for text in texts]
    report = run_forecast(*tasks, span="6h", capacity=capacity)
    for text, task in zip(texts, report.tasks, strict=True):
        expected = horae.preview(text, zone="UTC", after=START, until=START + timedelta(hours=6), limit=None)
        assert task.planned == len(expected) == task.ran + sum(task.skipped.values()) + task.waiting
    assert report.most_at_once <= capacity
    assert all(began.at >= began.planned for began in report.first_starts)
    assert sum(day.ran for day in report.days) == report.runs == sum(task.ran for task in report.tasks)


def test_span_includes_its_end() -> None:
    (task,) = run_forecast(a_task("it", "0 * * * *"), span="1h").tasks
    assert (task.ran, task.last) == (1, START + timedelta(hours=1))
    (task,) = run_forecast(a_task("it", "0 * * * *"), span=timedelta(minutes=59, seconds=59)).tasks
    assert task.ran == 0


def test_interval_from_end_waits_for_the_run() -> None:
    report = run_forecast(a_task("it", "every 10m after end", "5m"), span="1h")
    (task,) = report.tasks
    assert [began.at - START for began in report.first_starts] == [timedelta(minutes=each) for each in (10, 25, 40, 55)]
    assert (task.planned, task.overlaps) == (4, 0)


def test_jitter_is_not_counted_as_lateness() -> None:
    report = run_forecast(a_task("it", "0 * * * * with jitter up to 20m"), span="10h")
    (task,) = report.tasks
    offsets = {began.at - began.planned for began in report.first_starts}
    assert len(offsets) == 1
    assert timedelta(0) < offsets.pop() < timedelta(minutes=20)
    assert task.lateness_max == timedelta(0)


def test_now_and_past_instants_run_at_once() -> None:
    report = run_forecast(a_task("now", "now"), a_task("late", START - timedelta(days=3)), a_task("soon", "in 20m"))
    assert [(task.ran, task.first) for task in report.tasks] == [
        (1, START),
        (1, START),
        (1, START + timedelta(minutes=20)),
    ]


def test_days_are_counted_in_the_zone() -> None:
    report = run_forecast(a_task("it", "0 * * * *"), start=BEFORE_AUTUMN, span="2d", zone=BERLIN)
    assert [(f"{day.date:%m-%d}", day.ran) for day in report.days] == [("10-24", 9), ("10-25", 25), ("10-26", 14)]


def test_schedule_values_are_accepted() -> None:
    (task,) = run_forecast(a_task("it", Every(interval=timedelta(hours=1)))).tasks
    assert (task.ran, task.zone) == (24, "UTC")


def test_catch_up_run_is_counted_as_merged() -> None:
    """Both wait for the only place that there is; what passes meanwhile is missed, and made up for as the task says."""
    report = run_forecast(
        a_task("long", "30 0 * * *", "50m"),
        a_task("often", "*/10 * * * *", "1s", missed="merge"),
        span="2h",
        capacity=1,
    )
    task = report.tasks[1]
    assert task.planned == 12
    assert task.skipped == {Reason.MERGED: 12 - task.ran}
    assert task.ran < 12
