"""Printed command for the next page: same filters, same store."""

from __future__ import annotations

import shlex

from tests.cli.command_line import Cli, CommandResult
from tests.cli.histories import write_failure_history


def next_page_command(done: CommandResult) -> list[str]:
    """Return the printed command of the next page, split as by a shell."""
    (line,) = [each for each in done.err.splitlines() if each.startswith("more: ")]
    program, *arguments = shlex.split(line.removeprefix("more: "))
    assert program == "horae"
    return arguments


def test_next_page_of_tasks_keeps_filters_and_store(cli: Cli) -> None:
    other = f"sqlite:///{cli.directory / 'other store.db'}"
    for number in range(3):
        cli("add", "every 1h", "--say", f"a {number}", "--label", "k=it's", "--store", other)
    cli("add", "every 1h", "--say", "b", "--store", other)
    command = ("--label", "k=it's", "--state", "active", "--text", "a ", "--store", other)
    first = cli("ls", "-n", "2", *command)
    second = cli(*next_page_command(first), "--json")
    assert [task["name"] for task in second.json] == ["a 2"]


def test_next_page_of_runs_keeps_filters(cli: Cli) -> None:
    write_failure_history(cli.path)
    command = ("runs", "nightly-backup", "--failed", "--since", "yesterday 00:00", "--limit", "1")
    first = cli(*command, "--store", cli.url, HORAE_STORE="sqlite:///elsewhere.db")
    arguments = next_page_command(first)
    assert arguments[:-2] == ["--store", cli.url, *command]
    second = cli(*arguments, "--json", HORAE_STORE="sqlite:///elsewhere.db").json
    assert [run["task"] for run in second] == ["nightly-backup"]
    assert second[0]["id"] not in first.out


def test_next_page_of_events_is_offered(cli: Cli) -> None:
    write_failure_history(cli.path)
    every = [each["number"] for each in cli("events", "--after", "0", "--json").json]
    first = cli("events", "--after", "0", "--limit", "2", "--store", cli.url, HORAE_STORE="sqlite:///elsewhere.db")
    assert next_page_command(first) == ["--store", cli.url, "events", "--limit", "2", "--after", str(every[1])]
    assert cli(*next_page_command(first), "--json").json[0]["number"] == every[2]
