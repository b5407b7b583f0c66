"""`horae run` without a node: one request waits, is found by its id, and can be stopped."""

from __future__ import annotations

import pytest

from tests.cli.command_line import Cli


def requested(cli: Cli, *options: str) -> str:
    cli("add", "every day at 9:00", "--say", "x", "--name", "report", *options)
    return str(cli("run", "report", "--json").json["run_id"])


def test_run_without_a_node_reports_that_it_waits(cli: Cli) -> None:
    cli("add", "every day at 9:00", "--say", "x", "--name", "report")
    done = cli("run", "report")
    assert "will run once more when a node starts it: run_" in done.out
    assert "no engine is running: horae up" in done.err
    assert "runs now" not in done.out


@pytest.mark.usefixtures("node")
def test_run_with_a_node_reports_that_it_starts(cli: Cli) -> None:
    cli("add", "every day at 9:00", "--say", "x", "--name", "report")
    assert "report runs now, once more: run_" in cli("run", "report").out


def test_second_run_request_is_refused_and_names_the_first(cli: Cli) -> None:
    name = requested(cli)
    again = cli("run", "report", "--json")
    assert (again.code, again.problem["code"]) == (5, "run_requested")
    assert name in again.problem["detail"]
    assert len(cli("runs", "report", "--json").json) == 0


def test_every_request_is_accepted_where_all_of_them_will_run(cli: Cli) -> None:
    first = requested(cli, "--overlap", "queue_all")
    second = cli("run", "report", "--json").json["run_id"]
    assert first != second
    assert cli("why", second).code == cli("why", first).code == 0


@pytest.mark.parametrize("command", ["show", "logs"])
def test_waiting_run_is_found_by_its_id(cli: Cli, command: str) -> None:
    name = requested(cli)
    refused = cli(command, name, "--json")
    assert (refused.code, refused.problem["code"]) == (3, "run_waiting")
    assert "report" in refused.problem["detail"]
    assert "waits for a node since" in refused.problem["detail"]
    chinese = cli(command, name, "--lang", "zh")
    assert "等待节点" in chinese.err


def test_why_of_a_waiting_run_says_what_is_missing(cli: Cli) -> None:
    why = cli("why", requested(cli), "--json").json
    assert (why["verdict"], why["task"]) == ("overdue", "report")
    assert "no engine is running" in why["sentence"]


@pytest.mark.parametrize("by", ["run", "task"])
def test_waiting_run_can_be_stopped(cli: Cli, by: str) -> None:
    name = requested(cli)
    stopped = cli("stop", name if by == "run" else "report")
    assert (stopped.code, stopped.out) == (0, f"✓ {name} is off the agenda: it had not started\n")
    shown = cli("show", name, "--json").json
    assert (shown["state"], shown["reason"]) == ("skipped", "cancelled")
    assert cli("run", "report").code == 0


def test_hint_for_an_unknown_run_names_requested_runs(cli: Cli) -> None:
    requested(cli)
    refused = cli("show", "run_01a1e9af1b76e13dadedfbf0d3fcb0f7", "--json")
    assert refused.problem["code"] == "no_such_run"
    assert "a requested run appears when a node starts it" in refused.problem["hint"]


@pytest.mark.usefixtures("node")
def test_waiting_for_a_run_says_so_on_standard_error(cli: Cli) -> None:
    cli("add", "every day at 9:00", "--function", "embed", "--name", "embed")
    done = cli("run", "embed", "--wait")
    assert "waiting for embed to start and to end: run_" in done.err
    assert "waiting for" not in done.out
    assert "waiting for" not in cli("run", "embed", "--wait", "--quiet").err
