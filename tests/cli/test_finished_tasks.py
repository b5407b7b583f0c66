"""Completed and cancelled tasks: offered commands are accepted, and impossible ones refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from horae import Horae
from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before, write_failure_history

REFUSED = 5


def a_completed_task(path: Path) -> None:
    app = Horae(f"sqlite:///{path}", zone="UTC")

    @app.task(name="report")
    def report() -> None: ...

    with TimeTravel(app, hour_before(1), store="own") as time:
        time.run(app.schedule("report", "in 5m", name="once"))
        time.travel("10m")


def offered_commands(cli: Cli, *why: str) -> list[list[str]]:
    fixes = cli("why", *why, "--json").json["fixes"]
    return [shlex.split(fix["command"])[1:] for fix in fixes]


def test_completed_task_is_not_resumed(cli: Cli) -> None:
    a_completed_task(cli.path)
    cli("add", "every 1h", "--say", "tick", "--pause")
    done = cli("resume", "once", "--json")
    assert (done.code, done.problem["code"]) == (REFUSED, "task_over")
    report = cli("resume", "--all", "--json").json
    assert (report["matched"], report["done"]) == (2, 1)
    assert [each["code"] for each in report["refused"]] == ["task_over"]


def test_fixes_for_a_completed_task_are_accepted(cli: Cli) -> None:
    a_completed_task(cli.path)
    assert offered_commands(cli, "once") == []
    commands = offered_commands(cli, "once", "--at", "now")
    assert commands
    for command in commands:
        assert cli(*command).code != REFUSED, command


@pytest.mark.parametrize("name", ["nightly-backup", "weekly-digest", "report"])
def test_fixes_for_a_cancelled_task_are_accepted(cli: Cli, name: str) -> None:
    write_failure_history(cli.path)
    row = cli("runs", name, "--json").json[0]
    before = offered_commands(cli, name)
    cli("cancel", name)
    for command in (
        *offered_commands(cli, name),
        *offered_commands(cli, name, "--at", "now"),
        *offered_commands(cli, row["id"]),
    ):
        assert command[0] in ("logs", "next", "show"), (command, before)
        assert cli(*command).code == 0


def test_invalid_number_is_refused(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "tick")
    for number in ("-1", "10001"):
        done = cli("skip", "tick", "--json", "--", number)
        assert (done.code, done.problem["code"]) == (6, "bad_number")
    assert cli("skip", "--json", "--", "tick", "2").json["skips_left"] == 2
