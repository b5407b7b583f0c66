"""Operations on tasks as docs/behaviour.md describes them: pause, resume, edit, cancel, delete, skip, giving up."""

from __future__ import annotations

import pytest

from horae import Conflict, Horae, NotFound
from horae.model.policy import MissedMode
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import do_nothing, hourly_task, render_ledger


async def fail() -> None:
    raise ValueError("no")


async def return_ran() -> str:
    return "ran"


def resume_after_three_missed(missed: MissedMode) -> list[str]:
    with hourly_task() as (time, task):
        time.run(task.pause("on holiday"))
        time.travel("3h30m")
        assert render_ledger(time, task) == []
        time.run(task.resume(missed))
        time.travel("1m")
        return render_ledger(time, task)


def test_resume_skip_records_missed_occurrences_as_skipped() -> None:
    assert resume_after_three_missed("skip") == ["15:00 skipped paused 3"]


def test_resume_latest_runs_the_newest_occurrence() -> None:
    assert resume_after_three_missed("latest") == ["14:00 skipped merged 2", "15:00 succeeded"]


def test_resume_all_runs_every_occurrence() -> None:
    assert resume_after_three_missed("all") == ["13:00 succeeded", "14:00 succeeded", "15:00 succeeded"]


def test_resume_merge_runs_once_for_all_occurrences() -> None:
    assert resume_after_three_missed("merge") == ["15:00 succeeded 3"]


def test_pause_lets_active_runs_end() -> None:
    with hourly_task(minutes=30) as (time, task):
        time.travel("1h10m")
        time.run(task.pause())
        time.travel("3h")
        assert render_ledger(time, task) == ["13:00 succeeded"]
        assert time.run(task.why("15:00")).verdict == "paused"


def test_edit_fires_nothing_for_the_past() -> None:
    with hourly_task() as (time, task):
        time.travel("2h10m")
        edited = time.run(task.edit(when="30 * * * *"))
        assert f"{edited.fires.added[0]:%H:%M}" == "14:30"
        time.travel("1h30m")
        assert render_ledger(time, task) == ["13:00 succeeded", "14:00 succeeded", "14:30 succeeded", "15:30 succeeded"]


def test_edit_records_overdue_occurrences_as_missed() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="work")(do_nothing)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.schedule("work", "0 * * * *", missed="all"))
        time.crash()
        time.travel("2h10m")
        time.run(task.edit(when="30 * * * *"))
        time.restart()
        time.travel("30m")
        assert render_ledger(time, task) == ["14:00 skipped missed_skipped 2", "14:30 succeeded"]


def test_restart_restores_the_declared_schedule() -> None:
    with hourly_task() as (time, task):
        time.run(task.edit(when="30 * * * *"))
        time.crash()
        time.restart()
        time.travel("2h")
        assert render_ledger(time, task) == ["13:00 succeeded", "14:00 succeeded"]


def test_active_run_continues_after_an_edit() -> None:
    with hourly_task(minutes=30) as (time, task):
        time.travel("1h10m")
        time.run(task.edit(when="every day at 09:00"))
        time.travel("30m")
        assert render_ledger(time, task) == ["13:00 succeeded"]


def test_cancel_ends_active_runs_and_keeps_the_history() -> None:
    with hourly_task(minutes=30) as (time, task):
        time.travel("1h10m")
        time.run(task.cancel())
        time.travel("5h")
        assert render_ledger(time, task) == ["13:00 cancelled cancelled"]
        with pytest.raises(Conflict):
            time.run(task.run_now())


def test_delete_removes_the_history() -> None:
    with hourly_task() as (time, task):
        time.travel("2h")
        time.run(task.delete())
        assert time.runs() == []
        with pytest.raises(NotFound):
            time.run(task.state())


def test_run_now_does_not_move_the_schedule() -> None:
    with hourly_task() as (time, task):
        time.travel("10m")
        time.run(task.run_now())
        time.travel("50m")
        assert [(f"{run.started:%H:%M}", run.origin) for run in time.runs(task)] == [
            ("12:10", "manual"),
            ("13:00", "scheduled"),
        ]


def test_skip_records_a_skipped_run_for_each_occurrence() -> None:
    with hourly_task() as (time, task):
        time.run(task.skip(2))
        time.travel("3h")
        assert render_ledger(time, task) == [
            "13:00 skipped skip_requested",
            "14:00 skipped skip_requested",
            "15:00 succeeded",
        ]


def test_task_gives_up_after_consecutive_failures() -> None:
    app = Horae("memory://", zone="UTC")
    app.task("every 1h", retries=0, give_up_after=3, name="broken")(fail)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.travel("10h")
        task = time.run(app.get("broken"))
        assert len(time.runs(task)) == 3
        assert time.run(task.state()) == "failed"
        assert time.run(task.why("17:00")).verdict == "over"
        time.run(task.resume())
        assert time.run(task.state()) == "active"


def test_full_lane_delays_a_run_and_does_not_skip_it() -> None:
    with hourly_task(minutes=30, lane="one") as (time, _):
        app = time.app
        app.task(name="other", lane="one")(return_ran)
        time.travel("1h10m")
        task = time.run(app.schedule("other", "now"))
        time.travel("1m")
        assert "lane" in time.run(task.why()).english
        time.travel("20m")
        (run,) = time.runs(task)
        assert (run.state, f"{run.started:%H:%M}") == ("succeeded", "13:30")
