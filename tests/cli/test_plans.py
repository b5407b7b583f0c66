"""`horae plan`: add, list, show, skip, pause, reset, close, remove and import, at a store."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command_line import Cli

ADD = ("plan", "add", "garden", "--command", "water", "--type", "minute", "--value", "5", "--repeat", "3")


def allow(cli: Cli) -> None:
    assert cli("station", "allow", "garden", "--key", "k" * 40).code == 0


def test_plan_is_added_listed_and_shown(cli: Cli) -> None:
    assert "No plans." in cli("plan", "list").err
    refused = cli(*ADD)
    assert "horae station allow garden --key KEY" in refused.err
    assert refused.code != 0
    allow(cli)
    added = cli(*ADD, "--description", "roses", "--id", "255")
    assert "every 5 minutes, 3 times, missed times are skipped" in added.out
    assert "roses" in cli("plan", "list").out
    (listed,) = cli("plan", "list", "--json").json
    assert (listed["name"], listed["state"], listed["plan_type"]) == ("msg:garden:00000000000000ff", "queued", 3)
    assert cli("plan", "list", "--station", "other", "-q").out == ""
    assert cli("plan", "list", "--type", "delay", "-q").out.split() == ["00000000000000ff"]
    shown = cli("plan", "message", "ff").out
    assert "$ water" in shown
    assert cli("plan", "message", "msg:garden:ff", "--json").json["messages"] == ["water"]


def test_actions_on_a_plan(cli: Cli) -> None:
    allow(cli)
    name = cli(*ADD, "-q").out.strip()
    assert cli("plan", "skip", name, "2", "--json").json["counter"] == "Skip(0/2)"
    assert "skipping" in cli("plan", "skip", name, "--", "-1").out
    assert "paused" in cli("plan", "pause", name).out
    assert "skipping" in cli("plan", "reset", name).out
    assert "horae plan close" in cli("plan", "remove", name, "--yes").err
    assert cli("plan", "close", name, "-q").out.strip() == name
    assert cli("plan", "list", "--closed", "-q").out.split() == [name]
    assert "is removed" in cli("plan", "remove", name, "--yes").out
    assert cli("plan", "message", name).code != 0


def test_import_of_stored_plans(cli: Cli, tmp_path: Path) -> None:
    stored = {"station": "a", "plan_type": 2, "plan_value": 3, "plan_repet": -1, "messages": ["x"]}
    file = tmp_path / "plans.json"
    file.write_text(json.dumps([stored | {"plan_id": 3}, {}, stored | {"plan_id": 4, "plan_state": 7}]))
    done = cli("plan", "import", str(file))
    assert "1 plan is imported." in done.out
    assert "closed, left out" in done.err
    assert [each["code"] for each in cli("plan", "import", str(file), "--json").json] == [None, "compat_missing", None]
    file.write_text("{}")
    assert "a JSON list of plan messages" in cli("plan", "import", str(file)).err
