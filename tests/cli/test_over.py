"""Tasks that are over: what is still offered for them works, and what cannot be is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from horae import Horae
from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import failures, hour_before

REFUSED = 5


def a_completed_task(path: Path) -> None:
    app = Horae(f"sqlite:///{path}", zone="UTC")

    @app.task(name="report")
    def report() -> None: ...

    with TimeTravel(app, hour_before(1), store="own") as time:
        time.run(app.schedule("report", "in 5m", name="once"))
        time.travel("10m")


def offered(cli: Cli, *why: str) -> list[list[str]]:
    fixes = cli("why", *why, "--json").json["fixes"]
    return [shlex.split(fix["command"])[1:] for fix in fixes]


def test_what_is_completed_is_not_resumed(cli: Cli) -> None:
    a_completed_task(cli.path)
    cli("add", "every 1h", "--say", "tick", "--pause")
    done = cli("resume", "once", "--json")
    assert (done.code, done.problem["code"]) == (REFUSED, "task_over")
    report = cli("resume", "--all", "--json").json
    assert (report["matched"], report["done"]) == (2, 1)
    assert [each["code"] for each in report["refused"]] == ["task_over"]


@pytest.mark.parametrize("at", [[], ["--at", "now"]])
def test_nothing_is_offered_for_a_completed_task_that_would_be_refused(cli: Cli, at: list[str]) -> None:
    a_completed_task(cli.path)
    for command in offered(cli, "once", *at):
        assert cli(*command).code != REFUSED, command


@pytest.mark.parametrize("name", ["nightly-backup", "weekly-digest", "report"])
def test_nothing_is_offered_for_a_cancelled_task_that_would_be_refused(cli: Cli, name: str) -> None:
    failures(cli.path)
    row = cli("runs", name, "--json").json[0]
    before = offered(cli, name)
    cli("cancel", name)
    for command in (*offered(cli, name), *offered(cli, name, "--at", "now"), *offered(cli, row["id"])):
        assert command[0] in ("logs", "next", "show"), (command, before)
        assert cli(*command).code == 0


def test_a_number_that_cannot_be_is_refused(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "tick")
    for number in ("-1", "10001"):
        done = cli("skip", "tick", "--json", "--", number)
        assert (done.code, done.problem["code"]) == (6, "bad_number")
    assert cli("skip", "--json", "--", "tick", "2").json["skips_left"] == 2
