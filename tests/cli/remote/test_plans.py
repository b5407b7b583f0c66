"""`horae plan` at a server does the same as at a store."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.remote.server import RemoteCli


def test_plans_at_a_server(cli: RemoteCli, tmp_path: Path) -> None:
    add = ("plan", "add", "garden", "--command", "water", "--type", "hour", "--value", "5", "--repeat", "3")
    assert cli("station", "allow", "garden", "--key", "k" * 40).code == 0
    name = cli(*add, "-q").out.strip()
    assert cli("plan", "list", "--type", "delay", "--station", "garden", "-q").out.split() == [name]
    assert cli("plan", "list", "--type", "week", "-q").out == ""
    assert cli("plan", "message", name, "--json").json["messages"] == ["water"]
    assert cli("plan", "skip", name, "2", "--json").json["counter"] == "Skip(0/2)"
    assert "paused" in cli("plan", "pause", name).out
    assert "skipping" in cli("plan", "reset", name).out
    assert "closed" in cli("plan", "close", name).out
    assert cli("plan", "list", "--closed", "-q").out.split() == [name]
    assert "is removed" in cli("plan", "remove", name, "--yes").out
    file = tmp_path / "plans.json"
    stored = {"station": "a", "plan_type": 4, "plan_value": 3, "plan_repet": -1, "messages": ["x"], "plan_id": 3}
    file.write_text(json.dumps([stored, {}]))
    done = cli("plan", "import", str(file))
    assert "1 plan is imported." in done.out
    assert "plan_type" in done.err
