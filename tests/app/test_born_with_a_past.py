"""A task that began in another scheduler goes on here, and the missed policy accounts for the time in between."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from horae import Horae, TaskPast
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import do_nothing, render_ledger
from tests.cli.command_line import Cli

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_task_with_a_past_goes_on_and_accounts_for_what_was_missed() -> None:
    app = Horae("memory://", zone="UTC")
    work = app.task(name="hourly")(do_nothing)
    with TimeTravel(app, "2026-03-01 12:10", zone="UTC") as time:
        past = TaskPast(created=NOON - timedelta(hours=6), counted=3, missed_since=NOON - timedelta(hours=2.5))
        task = time.run(app.schedule(work, "every 1h 5 times", past=past))
        time.travel("1m")
        assert render_ledger(time, task) == ["11:00 skipped merged 2", "12:00 succeeded"]
        assert str(time.run(task.why("10:00"))).startswith("It was not run.")
        time.travel("2h")
        assert render_ledger(time, task)[2:] == ["13:00 succeeded"], "three of five had been counted before"


def test_task_with_a_past_and_nothing_missed_runs_next_on_its_old_grid() -> None:
    app = Horae("memory://", zone="UTC")
    work = app.task(name="hourly")(do_nothing)
    with TimeTravel(app, "2026-03-01 12:10", zone="UTC") as time:
        past = TaskPast(created=NOON - timedelta(hours=6, minutes=30))
        task = time.run(app.schedule(work, "every 1h", past=past))
        time.travel("1h")
        assert render_ledger(time, task) == ["12:30 succeeded"]


def test_command_line_takes_the_past_as_json(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    past = '{"created": "2026-01-01T00:00:00Z", "counted": 7}'
    made = cli("add", "every 1h", "--say", "x", "--zone", "UTC", "--past", past, "--json").json["task"]
    assert (made["created"], made["counted"]) == ("2026-01-01T00:00:00.000Z", 7)
    refused = cli("add", "every 1h", "--say", "x", "--past", '{"created": "soon"}', "--json")
    assert refused.problem["code"] == "bad_past"
