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
