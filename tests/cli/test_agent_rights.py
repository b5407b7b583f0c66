"""Agents on the command line: functions wait for approval, and a revoked token pauses the agent's tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def import_task(cli: Cli, name: str, **target: Any) -> dict[str, Any]:
    """Import a task created by an agent of another deployment."""
    import json  # noqa: PLC0415 - for this helper alone

    labels = {"horae/agent": "helper"}
    file = cli.directory / f"{name}.json"
    task = {"name": name, "key": name, "when": "every 1h", "zone": "UTC", "labels": labels, **target}
    file.write_text(json.dumps({"tasks": [task]}))
    done = cli("apply", "--file", str(file), "--yes", "--json")
    assert done.code == ExitCode.OK, done.err
    shown: dict[str, Any] = cli("show", name, "--json").json["task"]
    return shown


def test_function_of_an_agent_waits_for_approval_unless_the_operator_allows_it(cli: Cli) -> None:
    report = import_task(cli, "report", function="report")
    assert (report["state"], (report["pause"] or {}).get("cause")) == ("paused", "awaiting_approval")
    (cli.directory / "horae.toml").write_text('agent_functions = ["mail"]\n')
    assert import_task(cli, "mail", function="mail")["state"] == "active"
    assert import_task(cli, "other", function="mailer")["pause"]["cause"] == "awaiting_approval"
    assert cli("approve", "report", "--yes").code == ExitCode.OK
    assert cli("show", "report", "--json").json["task"]["state"] == "active"


def test_tasks_that_wait_for_approval_are_listed(cli: Cli) -> None:
    assert "No task waits for approval." in cli("approve").err
    report = import_task(cli, "report", function="report")
    listed = cli("approve")
    assert listed.out.splitlines()[0].split() == ["NAME", "AGENT", "OWNER", "WHEN"]
    assert listed.out.splitlines()[1].split()[:2] == ["report", "helper"]
    assert "horae approve NAME" in listed.err
    assert cli("approve", "--quiet").out.split() == [report["id"]]
    assert [each["id"] for each in cli("approve", "--json").json] == [report["id"]]
    cli("approve", "report", "--yes")
    assert cli("approve", "--json").json == []


def test_approving_again_says_that_it_is_approved_and_asks_nothing(cli: Cli) -> None:
    import_task(cli, "report", function="report")
    assert "may run as it is" in cli("approve", "report", "--yes").out
    again = cli("approve", "report")
    assert (again.code, again.err) == (ExitCode.OK, "")
    assert "report is approved already as it is" in again.out
    cli("edit", "report", "--when", "every 2h")
    assert cli("approve", "report", "--json", "--yes").json["state"] == "active"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_why_says_each_command_once(cli: Cli, language: str) -> None:
    import_task(cli, "report", function="report")
    waiting = cli("why", "report", "--lang", language).out
    assert waiting.count("horae approve") == 1
    cli("approve", "report", "--yes")
    cli("agent", "stop", "helper")
    stopped = cli("why", "report", "--lang", language).out
    assert stopped.count("horae agent restart helper --owner local") == 1


def test_revoking_the_last_token_of_an_agent_pauses_its_tasks_and_why_says_so(cli: Cli) -> None:
    cli("owner", "set", "local", "--role", "admin")
    first = cli("token", "make", "one", "--owner", "local", "--agent", "helper", "--json").json["id"]
    second = cli("token", "make", "two", "--owner", "local", "--agent", "helper", "--json").json["id"]
    import_task(cli, "look", say="hello")
    cli("token", "revoke", first, "--yes")
    assert cli("show", "look", "--json").json["task"]["state"] == "active"
    done = cli("token", "revoke", second, "--yes")
    assert cli("show", "look", "--json").json["task"]["state"] == "paused"
    assert "all that it made is paused" in done.err
    assert cli("why", "look", "--json").json["reason"] == "owner_revoked"
    refused = cli("resume", "look", "--json")
    assert refused.problem["code"] == "agent_revoked"
    for command in [part.strip() for part in refused.problem["hint"].replace(" then:", "").split(";")]:
        words = command[command.index("horae ") :].split()[1:]
        assert cli(*words).code == ExitCode.OK, command
    assert cli("show", "look", "--json").json["task"]["state"] == "active"
