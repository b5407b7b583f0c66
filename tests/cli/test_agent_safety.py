"""`horae group set --budget`, `horae group budget`, `horae agent stop --all`, and the usage of a run, on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command_line import Cli


def test_budget_of_a_group(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("group", "add", "family", "web:1", "--zone", "UTC")
    assert "horae group set family --budget" in cli("group", "budget", "family").err
    done = cli(
        "group", "set", "family", "--budget", "tokens=200000/day", "--budget", "cost=2.5/day", "--budget", "runs=50"
    )
    assert done.code == 0, done.err
    state = cli("group", "budget", "family", "--json").json
    assert state["limits"] == {"tokens": 200_000, "cost": 2.5, "runs": 50}
    assert state["left"] == state["limits"]
    text = cli("group", "show", "family").out
    assert "tokens: 0 used, 0 reserved, 200,000 a day" in text
    assert "cost: $0.00 used, $0.00 reserved, $2.50 a day" in text
    assert cli("group", "set", "family", "--budget", "tokens=none").code == 0
    assert cli("group", "budget", "family", "--json").json["limits"]["tokens"] is None
    chinese = cli("--lang", "zh", "group", "budget", "family")
    assert "预算" in chinese.out, chinese.err
    for text, code in (("tokens", "bad_budget"), ("minutes=5", "bad_choice"), ("runs=1.5", "bad_number")):
        assert cli("group", "set", "family", "--budget", text, "--json").problem["code"] == code


def test_all_agents_are_stopped_and_go_on(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli("group", "add", "family", "web:1")
    assert cli("agent", "stop", "--json").problem["code"] == "stop_one_or_all"
    assert cli("agent", "stop", "robot", "--all", "--json").problem["code"] == "stop_one_or_all"
    assert cli("agent", "stop", "--all", "--json").problem["code"] == "needs_yes"
    assert cli("agent", "stop", "--all", "--yes", "--json").json == {"agent": "*", "tasks": 0, "stopped": True}
    assert "horae agent restart --all" in cli("agent", "ls").err
    assert cli("agent", "restart", "--all", "--json").json == {"agent": "*", "tasks": 0, "stopped": False}
    assert "restart --all" not in cli("agent", "ls").err
    assert cli("agent", "stop", "family", "--json").json == {"agent": "family", "tasks": 0, "stopped": True}
    assert cli("agent", "restart", "family", "--json").json["stopped"] is False
