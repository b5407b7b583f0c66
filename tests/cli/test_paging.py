"""The command that a page offers for the next one: it asks for the same, of the same store."""

from __future__ import annotations

import shlex

from tests.cli.command_line import Cli, CommandResult
from tests.cli.histories import failures


def more(done: CommandResult) -> list[str]:
    """The command that a page offers, as a shell would read it."""
    (line,) = [each for each in done.err.splitlines() if each.startswith("more: ")]
    program, *arguments = shlex.split(line.removeprefix("more: "))
    assert program == "horae"
    return arguments


def test_the_next_page_of_tasks_has_the_same_filters_and_the_same_store(cli: Cli) -> None:
    other = f"sqlite:///{cli.directory / 'other store.db'}"
    for number in range(3):
        cli("add", "every 1h", "--say", f"a {number}", "--label", "k=it's", "--store", other)
    cli("add", "every 1h", "--say", "b", "--store", other)
    asked = ("--label", "k=it's", "--state", "active", "--text", "a ", "--store", other)
    first = cli("ls", "-n", "2", *asked)
    second = cli(*more(first), "--json")
    assert [task["name"] for task in second.json] == ["a 2"]


def test_the_next_page_of_runs_has_the_same_filters(cli: Cli) -> None:
    failures(cli.path)
    asked = ("runs", "nightly-backup", "--failed", "--since", "yesterday 00:00", "--limit", "1")
    first = cli(*asked, "--store", cli.url, HORAE_STORE="sqlite:///elsewhere.db")
    arguments = more(first)
    assert arguments[:-2] == ["--store", cli.url, *asked]
    second = cli(*arguments, "--json", HORAE_STORE="sqlite:///elsewhere.db").json
    assert [run["task"] for run in second] == ["nightly-backup"]
    assert second[0]["id"] not in first.out


def test_the_next_page_of_events_is_offered(cli: Cli) -> None:
    failures(cli.path)
    every = [each["number"] for each in cli("events", "--after", "0", "--json").json]
    first = cli("events", "--after", "0", "--limit", "2", "--store", cli.url, HORAE_STORE="sqlite:///elsewhere.db")
    assert more(first) == ["--store", cli.url, "events", "--limit", "2", "--after", str(every[1])]
    assert cli(*more(first), "--json").json[0]["number"] == every[2]
