"""`horae add --gate`: the three kinds, their timeout, `show`, and words that are no gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import Cli


@pytest.mark.parametrize(
    ("options", "target", "timeout"),
    [
        (["--gate", "function app.has_mail"], {"kind": "function", "name": "app.has_mail"}, "PT30S"),
        (["--gate", "http get https://example.com/check", "--gate-timeout", "5s"], {"kind": "http"}, "PT5S"),
        (["--gate", "http https://example.com/check"], {"kind": "http"}, "PT30S"),
        (["--gate", '{"function": "check", "timeout": "1m"}'], {"kind": "function", "name": "check"}, "PT1M"),
    ],
    ids=["function", "method", "url", "json"],
)
def test_gate_is_stored_shown_and_removed(cli: Cli, options: list[str], target: dict[str, Any], timeout: str) -> None:
    assert "gate: " in cli("add", "every 1h", "--say", "tick", *options).out
    task = cli("add", "every 1h", "--say", "tick", *options, "--json").json["task"]
    gate = task["policies"]["gate"]
    assert gate["target"].items() >= target.items()
    assert (gate["timeout"], gate["state"]) == (timeout, True)
    assert "gate: " in cli("show", task["id"]).out
    cleared = cli("edit", task["id"], "--gate", "never", "--json").json["task"]
    assert cleared["policies"]["gate"] is None


@pytest.mark.parametrize(
    "options",
    [["--gate", "bash"], ["--gate", "http"], ["--gate", "command 'open"], ["--gate-timeout", "5s"]],
    ids=["kind", "no address", "open quote", "timeout alone"],
)
def test_words_that_are_no_gate_are_refused(cli: Cli, options: list[str]) -> None:
    done = cli("add", "every 1h", "--say", "tick", *options)
    assert done.code == 2
    assert "--gate 'command check-mail --new'" in done.err


def add_gated(cli: Cli, answer: str = "open") -> None:
    payload = json.dumps({"answer": answer})
    target = ("--function", "answer_mail", "--payload", payload, "--gate", "function check_mail")
    made = cli("add", "every 1d", "--name", "mail", *target)
    assert made.code == 0, made.err


@pytest.mark.usefixtures("node")
def test_gate_is_checked_without_a_run_of_the_target(cli: Cli) -> None:
    add_gated(cli)
    done = cli("run", "mail", "--gate-only")
    assert done.code == 0, done.err
    assert "✓ the gate is open: the target would be called" in done.out
    for words in ("邮件", '["mail"]', '{"last": 7}'):
        assert words in done.out
    closed = cli("run", "mail", "--gate-only", "--merge", '{"answer": "closed"}', "--lang", "zh")
    assert closed.code == 0
    assert "门控未通过" in closed.out
    shown = cli("run", "mail", "--gate-only", "--json").json
    assert (shown["state"], shown["reason"], shown["result"]["run"]) == ("skipped", "gate_checked", True)
    assert cli("run", "mail", "--gate-only", "--quiet").out.startswith("run_")
    assert "check of the gate" in cli("why", "mail").out
    checked = cli("show", shown["id"]).out
    assert "Gate   邮件" in checked
    assert "Error" not in checked


@pytest.mark.usefixtures("node")
def test_check_of_a_failing_gate_says_what_it_said(cli: Cli) -> None:
    add_gated(cli, "broken")
    done = cli("run", "mail", "--gate-only")
    assert done.code == 9
    assert "The gate gave no verdict: ValueError: no connection" in done.err
    assert "门控没有给出结论" in cli("run", "mail", "--gate-only", "--lang", "zh").err
    assert cli("ls", "--json").json[0]["state"] == "active"


def test_check_of_a_gate_is_for_one_task_that_has_one(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "tick", "--name", "plain")
    refused = cli("run", "plain", "--gate-only", "--json")
    assert (refused.code, refused.problem["code"]) == (6, "no_gate")
    for options in (["--all"], ["plain", "--as-of", "yesterday"]):
        done = cli("run", *options, "--gate-only", "--json")
        assert (done.code, done.problem["code"]) == (2, "gate_of_one_task")


def test_program_of_a_gate_must_be_allowed(cli: Cli) -> None:
    done = cli("add", "every 1h", "--say", "tick", "--gate", "command check-mail --new")
    assert done.code != 0
    assert "check-mail" in done.err


def test_gate_is_exported_and_applied(cli: Cli, tmp_path: Path) -> None:
    task = cli("add", "every 1h", "--say", "tick", "--key", "k", "--gate", "function check", "--json").json["task"]
    gate = task["policies"]["gate"]
    assert json.dumps(gate["target"], separators=(",", ":")) in cli("export").out.replace(": ", ":").replace(", ", ",")
    file = tmp_path / "tasks.json"
    wanted = {"name": task["name"], "key": "k", "when": "every 1h", "say": "tick", "policies": {"gate": gate}}
    file.write_text(json.dumps({"tasks": [wanted]}), encoding="utf-8")
    cli("edit", task["id"], "--gate", "never")
    applied = cli("apply", "-f", str(file), "--yes")
    assert applied.code == 0, applied.err
    assert cli("show", task["id"], "--json").json["task"]["policies"]["gate"] == gate
