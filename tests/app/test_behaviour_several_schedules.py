"""Tasks with several schedules as docs/behaviour.md describes them, with the real engine in virtual time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import horae
from horae import Horae
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import NOON, do_nothing, render_ledger

START = datetime(2026, 3, 1, 12, tzinfo=UTC)  # a Sunday


def run_list(when: Any, span: str, **policies: Any) -> tuple[list[str], list[datetime]]:
    """Run a task for a while; return its ledger and the instants at which it ran."""
    app = Horae("memory://", zone="UTC")
    app.task(name="note")(do_nothing)
    with TimeTravel(app, NOON, zone="UTC") as time:
        task = time.run(app.schedule("note", when, **policies))
        time.travel(span)
        return render_ledger(time, task), time.ran(task)


def test_the_earliest_of_all_schedules_is_next() -> None:
    ledger, _ = run_list(["every day at 12:30", "0 13-14 * * *", "every 50m"], "2h")
    assert ledger == [
        "12:30 succeeded",
        "12:50 succeeded",
        "13:00 succeeded",
        "13:40 succeeded",
        "14:00 succeeded",
    ]


def test_equal_instants_are_one_occurrence() -> None:
    ledger, _ = run_list(["every 30m", "0 * * * *", "every day at 13:00"], "1h")
    assert ledger == ["12:30 succeeded", "13:00 succeeded"]


def test_repeats_count_the_occurrences_of_all_schedules() -> None:
    ledger, _ = run_list("every 30m and every day at 13:00, 3 times", "5h")
    assert ledger == ["12:30 succeeded", "13:00 succeeded", "13:30 succeeded"]


def test_now_in_a_list_runs_at_once_and_the_list_goes_on() -> None:
    ledger, _ = run_list("now and every day at 13:00", "2h")
    assert ledger == ["12:00 succeeded", "13:00 succeeded"]


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ("skip", ["15:00 skipped missed_skipped 7"]),
        ("latest", ["14:40 skipped merged 6", "15:00 succeeded"]),
        ("merge", ["15:00 succeeded 7"]),
    ],
)
def test_missed_occurrences_of_all_schedules_are_one_stretch(missed: str, expected: list[str]) -> None:
    app = Horae("memory://", zone="UTC")
    app.task(["0 * * * *", "every 40m", "every day at 14:20"], name="several", missed=missed)(do_nothing)
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.crash()
        time.travel("3h10m")
        time.restart()
        time.travel("1m")
        assert render_ledger(time, "several") == expected


def test_month_of_missed_instants_of_dense_schedules_is_one_row() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(["every 1s", "every 1500ms", "0 * * * *"], missed="skip", name="dense")(do_nothing)
    with TimeTravel(app, NOON) as time:
        time.crash()
        time.travel("30d")
        time.restart()
        time.travel("1s")
        skipped, *_ = time.runs("dense")
        assert skipped.span is not None
        # Every second, and each half second of the other interval that is not one: 4 instants in 3 seconds.
        assert skipped.span.count == pytest.approx(30 * 86_400 * 4 / 3, abs=5)


@pytest.mark.parametrize(
    "when",
    [
        "every weekday at 9am and Sat at 11am",
        ["every 7h", "every 11h", "0 */7 * * *"],
        "every day at 02:30, fold both; and every sunday at 03:00; and every 53h; with jitter up to 10m, Europe/Berlin",
        {
            "kind": "any_of",
            "schedules": ["0 9 * * *", {"kind": "calendar", "at": ["09:00"], "zone": "America/New_York"}],
            "repeat": 40,
            "end": "2026-03-25",
        },
    ],
)
def test_preview_of_a_list_is_what_runs(when: Any) -> None:
    expected = horae.preview(when, zone="UTC", after=START, until=START + timedelta(days=40), limit=None)
    _, ran = run_list(when, "40d", missed="all")
    assert [each for each in ran if each <= START + timedelta(days=40)] == expected
    assert len(expected) > 20
