"""The fast path of a forecast equals the engine, and takes only undisturbed tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.forecast import Candidate, Report, simulation, undisturbed_tasks
from horae.forecast.request import ForecastRequest
from tests.unit.forecast.forecast_setup import START, a_task, run_forecast

BEFORE_SPRING = datetime(2026, 3, 28, 18, tzinfo=UTC)
BEFORE_AUTUMN = datetime(2026, 10, 24, 18, tzinfo=UTC)

schedules = st.sampled_from(
    [
        "*/5 * * * *",
        "*/20 1-4 * * *",
        "30 2 * * *",
        "every 7m",
        "every 10m, 20 times",
        "every 4m with jitter up to 3m",
        "*/10 * * * * with jitter up to 1h",
        "every 11m after end",
        "every hour from 2026-03-28 21:00",
        "every 7m and 0 * * * *",
        "RRULE:FREQ=HOURLY;BYMINUTE=0,30;BYSECOND=0",
        "in 2h",
        "now",
    ]
)


@st.composite
def tasks(draw: st.DrawFn) -> list[Candidate]:
    return [
        a_task(
            f"t{number}",
            draw(schedules),
            draw(st.sampled_from([0, 0.000001, 1, 100, 240, 300, 900])),
            lane=draw(st.sampled_from([None, None, None, "one"])),
            overlap=draw(st.sampled_from(["skip", "queue", "queue_all", "replace", "parallel"])),
            max_duration=draw(st.sampled_from([None, None, "2m"])),
            priority=draw(st.integers(-1, 1)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]


def run_both(*candidates: Candidate, **question: Any) -> tuple[Report, Report]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(undisturbed_tasks, "MIN_OCCURRENCES", 1)
        return run_forecast(*candidates, **question), run_forecast(*candidates, every_run=True, **question)


@settings(max_examples=40, deadline=None)
@given(tasks(), st.sampled_from([START, BEFORE_SPRING, BEFORE_AUTUMN]), st.sampled_from([2, 4, 512]))
def test_fast_path_equals_the_engine(candidates: list[Candidate], start: datetime, capacity: int) -> None:
    quick, thorough = run_both(*candidates, start=start, span="13h", zone="Europe/Berlin", capacity=capacity)
    assert quick == thorough


@pytest.mark.parametrize("overlap", ["skip", "queue", "queue_all", "replace"])
def test_run_that_ends_when_the_next_is_due_does_not_overlap_it(overlap: str) -> None:
    alone = run_forecast(a_task("exact", "*/5 * * * *", "5m", overlap=overlap), span="13h").tasks[0]
    assert (alone.overlaps, alone.ran, alone.lateness_max) == (0, 156, timedelta(0))
    beside = a_task("quick", "*/5 * * * *", 0), a_task("exact", "*/5 * * * *", "5m", overlap=overlap)
    for capacity in (2, 3):
        for report in run_both(*beside, span="13h", capacity=capacity):
            assert report.tasks[1] == alone


def test_overlap_is_decided_late_where_other_tasks_use_the_capacity() -> None:
    """The engine decides on no entry without room for a run, so a task beside another is not undisturbed."""
    stopped = a_task("stopped", "*/5 * * * *", "5m", max_duration="2m", overlap="queue")
    quick, thorough = run_both(a_task("quick", "*/5 * * * *", 7), stopped, span="13h", capacity=2)
    assert quick == thorough
    assert quick.tasks[1].capacity_wait_max > timedelta(0)


def undisturbed_numbers(*candidates: Candidate, monkeypatch: pytest.MonkeyPatch, **question: Any) -> set[int]:
    taken: set[int] = set()

    def watched(asked_about: ForecastRequest, made: Any, predecessors: Any) -> Any:
        found = undisturbed_tasks.find_undisturbed(asked_about, made, predecessors)
        taken.update(found)
        return found

    monkeypatch.setattr(simulation, "find_undisturbed", watched)
    run_forecast(*candidates, **question)
    return taken


def test_only_undisturbed_tasks_skip_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = [
        a_task("alone", "*/5 * * * *", "4m59s"),
        a_task("just too long", "*/5 * * * *", "5m"),
        a_task("in a lane", "*/5 * * * *", lane="one"),
        a_task("from its end", "every 5m after end"),
        a_task("stopped", "*/5 * * * *", "2m", max_duration="1m"),
        a_task("rare", "0 * * * *"),
    ]
    assert undisturbed_numbers(*candidates, monkeypatch=monkeypatch) == {0}
    assert undisturbed_numbers(*candidates, monkeypatch=monkeypatch, capacity=6) == set(), "six might want all six"
    many = a_task("many at once", "0 * * * *", overlap="parallel")
    assert undisturbed_numbers(candidates[0], many, monkeypatch=monkeypatch) == set(), (
        "it may take any number of places"
    )


def test_undisturbed_runs_count_towards_the_row_limit() -> None:
    candidates = [a_task("minutely", "* * * * *"), a_task("slow", "every 1s", 2)]
    report = run_forecast(*candidates, span="5h", most=2_000)
    assert not report.complete
    assert report.runs + report.skipped <= 2_000
    assert report.tasks[0].last == report.until.replace(second=0, microsecond=0)
    assert report.tasks[0].upcoming == report.tasks[0].last + timedelta(minutes=1)


def test_undisturbed_runs_use_at_most_half_of_the_row_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = [a_task("hourly", "0 * * * *"), a_task("often", "every 1m"), a_task("seldom", "*/5 * * * *")]
    assert undisturbed_numbers(*candidates, monkeypatch=monkeypatch, most=4_000) == {1, 2}
    assert undisturbed_numbers(*candidates, monkeypatch=monkeypatch, most=2_800) == set()
