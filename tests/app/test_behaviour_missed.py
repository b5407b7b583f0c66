"""Missed policies as docs/behaviour.md describes them: occurrences that came due while no node was running."""

from __future__ import annotations

from pathlib import Path

from horae import Horae
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import do_nothing, hourly_task, render_ledger


def after_three_hours_down(missed: str) -> tuple[list[str], list[object]]:
    with hourly_task(missed=missed) as (time, task):
        time.crash()
        time.travel("3h30m")
        time.restart()
        time.travel("1m")
        return render_ledger(time, task), [run.result for run in time.runs(task) if run.result_json]


def test_missed_skip_runs_none() -> None:
    assert after_three_hours_down("skip") == (["15:00 skipped missed_skipped 3"], [])


def test_missed_latest_runs_the_newest_and_records_the_others_as_merged() -> None:
    assert after_three_hours_down("latest") == (["14:00 skipped merged 2", "15:00 succeeded"], [1])


def test_missed_all_runs_one_by_one_oldest_first() -> None:
    assert after_three_hours_down("all") == (["13:00 succeeded", "14:00 succeeded", "15:00 succeeded"], [1, 1, 1])


def test_missed_merge_runs_once_with_the_count() -> None:
    assert after_three_hours_down("merge") == (["15:00 succeeded 3"], [3])


def test_occurrences_older_than_within_are_stale() -> None:
    assert after_three_hours_down("all within 1h") == (["14:00 skipped stale 2", "15:00 succeeded"], [1])


def test_one_time_task_runs_however_late() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="once")(do_nothing)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.schedule("once", "in 1h"))
        time.crash()
        time.travel("40d")
        time.restart()
        time.travel("1m")
        assert render_ledger(time, task) == ["13:00 succeeded"]
        assert time.run(task.state()) == "completed"


def test_month_of_missed_seconds_is_one_row() -> None:
    app = Horae("memory://", zone="UTC")
    app.task("every 1s", missed="skip", name="second")(do_nothing)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.crash()
        time.travel("30d")
        time.restart()
        time.travel("1s")
        skipped, *_ = time.runs("second")
        assert skipped.span is not None
        assert skipped.span.count >= 30 * 86_400


def test_schedule_continues_after_a_restart(tmp_path: Path) -> None:
    def app() -> Horae:
        made = Horae(f"sqlite:///{tmp_path}/horae.db", zone="UTC")
        made.task("0 * * * *", name="hourly")(do_nothing)
        return made

    with TimeTravel(app(), "2026-03-01 12:00", store="own") as time:
        time.travel("2h")
    with TimeTravel(app(), "2026-03-01 14:30", store="own") as time:
        time.travel("90m")
        assert render_ledger(time, "hourly") == [
            "13:00 succeeded",
            "14:00 succeeded",
            "15:00 succeeded",
            "16:00 succeeded",
        ]
