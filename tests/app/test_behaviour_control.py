"""What people do to tasks, and what comes of it: pause, resume, edit, cancel, delete, skip, give up."""

from __future__ import annotations

import pytest

from horae import Conflict, Horae, NotFound
from horae.model.policy import MissedMode
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import hourly, ledger


async def do_nothing() -> None: ...


async def fail() -> None:
    raise ValueError("no")


async def say_ran() -> str:
    return "ran"


def paused_over_three(missed: MissedMode) -> list[str]:
    with hourly() as (time, task):
        time.run(task.pause("on holiday"))
        time.travel("3h30m")
        assert ledger(time, task) == []
        time.run(task.resume(missed))
        time.travel("1m")
        return ledger(time, task)


def test_resume_skips_what_was_missed() -> None:
    assert paused_over_three("skip") == ["15:00 skipped paused 3"]


def test_resume_may_run_the_latest() -> None:
    assert paused_over_three("latest") == ["14:00 skipped merged 2", "15:00 succeeded"]


def test_resume_may_run_all() -> None:
    assert paused_over_three("all") == ["13:00 succeeded", "14:00 succeeded", "15:00 succeeded"]


def test_resume_may_merge_them() -> None:
    assert paused_over_three("merge") == ["15:00 succeeded 3"]


def test_a_pause_lets_what_runs_end() -> None:
    with hourly(minutes=30) as (time, task):
        time.travel("1h10m")
        time.run(task.pause())
        time.travel("3h")
        assert ledger(time, task) == ["13:00 succeeded"]
        assert time.run(task.why("15:00")).verdict == "paused"


def test_an_edit_fires_nothing_for_the_past() -> None:
    with hourly() as (time, task):
        time.travel("2h10m")
        edited = time.run(task.edit(when="30 * * * *"))
        assert f"{edited.fires.added[0]:%H:%M}" == "14:30"
        time.travel("1h30m")
        assert ledger(time, task) == ["13:00 succeeded", "14:00 succeeded", "14:30 succeeded", "15:30 succeeded"]


def test_an_edit_while_something_is_due_accounts_for_it() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="work")(do_nothing)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        task = time.run(app.schedule("work", "0 * * * *", missed="all"))
        time.crash()
        time.travel("2h10m")
        time.run(task.edit(when="30 * * * *"))
        time.restart()
        time.travel("30m")
        assert ledger(time, task) == ["14:00 skipped missed_skipped 2", "14:30 succeeded"]


def test_what_the_code_declares_is_as_the_code_says_when_it_starts_again() -> None:
    with hourly() as (time, task):
        time.run(task.edit(when="30 * * * *"))
        time.crash()
        time.restart()
        time.travel("2h")
        assert ledger(time, task) == ["13:00 succeeded", "14:00 succeeded"]


def test_a_run_that_goes_on_survives_an_edit() -> None:
    with hourly(minutes=30) as (time, task):
        time.travel("1h10m")
        time.run(task.edit(when="every day at 09:00"))
        time.travel("30m")
        assert ledger(time, task) == ["13:00 succeeded"]


def test_cancel_ends_what_runs_and_keeps_the_history() -> None:
    with hourly(minutes=30) as (time, task):
        time.travel("1h10m")
        time.run(task.cancel())
        time.travel("5h")
        assert ledger(time, task) == ["13:00 cancelled cancelled"]
        with pytest.raises(Conflict):
            time.run(task.run_now())


def test_delete_takes_the_history_along() -> None:
    with hourly() as (time, task):
        time.travel("2h")
        time.run(task.delete())
        assert time.runs() == []
        with pytest.raises(NotFound):
            time.run(task.state())


def test_run_now_is_extra() -> None:
    with hourly() as (time, task):
        time.travel("10m")
        time.run(task.run_now())
        time.travel("50m")
        assert [(f"{run.started:%H:%M}", run.origin) for run in time.runs(task)] == [
            ("12:10", "manual"),
            ("13:00", "scheduled"),
        ]


def test_a_requested_skip_has_its_row() -> None:
    with hourly() as (time, task):
        time.run(task.skip(2))
        time.travel("3h")
        assert ledger(time, task) == ["13:00 skipped skip_requested", "14:00 skipped skip_requested", "15:00 succeeded"]


def test_enough_failures_in_a_row_and_a_person_must_look() -> None:
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


def test_a_full_lane_makes_it_wait_and_not_miss() -> None:
    with hourly(minutes=30, lane="one") as (time, _):
        app = time.app
        app.task(name="other", lane="one")(say_ran)
        time.travel("1h10m")
        task = time.run(app.schedule("other", "now"))
        time.travel("1m")
        assert "lane" in time.run(task.why()).english
        time.travel("20m")
        (run,) = time.runs(task)
        assert (run.state, f"{run.started:%H:%M}") == ("succeeded", "13:30")
