"""Allowed programs of command targets: refused at creation with the fix; and prompts for agents."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from horae.errors import NotAllowed
from tests.cli.command_line import Cli
from tests.cli.node_process import running_node
from tests.cli.remote.server import RemoteCli

AGENT = {"kind": "agent", "group": "family"}


def follow(cli: Cli, hint: str, way: str) -> dict[str, str]:
    """Follow the hint: write its line under its heading in `horae.toml`, or set its variable."""
    if way == "toml":
        ((line, heading),) = re.findall(r"(allow = \[.*?\]) under (\[[\w.]+\]) in horae.toml", hint)
        (cli.directory / "horae.toml").write_text(f"{heading}\n{line}\n", encoding="utf-8")
        return {}
    ((name, value),) = re.findall(r"(HORAE_\w+)=(\S+)", hint)
    return {name: value}


@pytest.mark.parametrize("way", ["toml", "environment"])
def test_following_the_hint_lets_a_command_run(cli: Cli, way: str) -> None:
    adding = ("add", "in 1h", "--name", "date", "--json", "--command", "--", "date")
    refused = cli(*adding)
    assert refused.problem["code"] == "command_none_allowed"
    environment = follow(cli, refused.problem["hint"], way)
    assert cli(*adding, **environment).code == 0
    with running_node(cli, **environment):
        assert cli("run", "date", "--wait", **environment).code == 0


def test_second_program_is_added_where_the_hint_says(cli: Cli) -> None:
    refused = cli("add", "in 1h", "--json", "--command", "--", "date", HORAE_COMMAND_ALLOW="true")
    assert refused.problem["code"] == "command_not_allowed"
    assert "HORAE_COMMAND_ALLOW" in refused.problem["hint"]
    assert "horae.toml" in refused.problem["hint"]
    assert cli("add", "in 1h", "--command", "--", "date", HORAE_COMMAND_ALLOW="true,date").code == 0


def test_a_command_that_only_the_command_line_allows_fails_as_not_allowed_by_the_node(cli: Cli) -> None:
    allowed = {"HORAE_COMMAND_ALLOW": "date"}
    assert cli("add", "in 1h", "--name", "date", "--command", "--", "date", **allowed).code == 0
    with running_node(cli):
        ended = cli("run", "date", "--wait", **allowed)
        why = cli("why", "date", **allowed)
    assert "not allowed by this node" in ended.out + ended.err
    assert "HORAE_COMMAND_ALLOW=date" in ended.out + ended.err
    assert "not known" not in ended.out + ended.err + why.out
    assert "not allowed by the node" in " ".join(why.out.split())


def test_an_address_that_only_the_command_line_allows_fails_as_not_allowed_by_the_node(cli: Cli) -> None:
    allowed = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}
    assert cli("add", "in 1h", "--name", "call", "--http", "http://127.0.0.1:9/x", **allowed).code == 0
    with running_node(cli):
        cli("run", "call", "--wait", **allowed)
        why = cli("why", "call", **allowed)
    assert "not allowed by the node" in " ".join(why.out.split())


def test_command_line_uses_the_allowed_programs_of_the_node(cli: Cli) -> None:
    with running_node(cli, HORAE_COMMAND_ALLOW="date"):
        assert cli("add", "in 1h", "--name", "date", "--command", "--", "date").code == 0
        assert cli("run", "date", "--wait").code == 0
        assert cli("add", "in 1h", "--command", "--", "true").code != 0


async def schedule_with_the_library(store: str) -> None:
    async with Horae(store, engine=False) as app:
        await app.schedule(AGENT, "every day at 9am", {"prompt": "look"}, name="look")


async def test_a_prompt_for_an_agent_of_another_owner_is_refused_by_the_library(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed) as refused:
        await schedule_with_the_library(f"sqlite:///{tmp_path}/h.db")
    assert refused.value.code == "agent_owner"
    assert "group:family" in refused.value.hint


def a_nanoclaw_file(folder: Path) -> Path:
    path = folder / "messages.db"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE scheduled_tasks (id TEXT, group_folder TEXT, chat_jid TEXT, prompt TEXT, schedule_type TEXT,"
            " schedule_value TEXT, next_run TEXT, last_run TEXT, last_result TEXT, status TEXT, created_at TEXT)"
        )
        row = ("1", "main", "1@g.us", "Say hello.", "cron", "0 9 * * *", "2030-01-01T09:00:00Z", None, None, "active")
        database.execute("INSERT INTO scheduled_tasks VALUES (?,?,?,?,?,?,?,?,?,?,?)", (*row, "2026-01-01T00:00:00Z"))
    database.close()
    return path


@pytest.mark.parametrize("place", ["file", "server"])
def test_an_imported_prompt_for_an_agent_is_active(tmp_path: Path, place: str) -> None:
    served = RemoteCli(tmp_path)
    path = str(a_nanoclaw_file(tmp_path))
    try:
        command: Any = served if place == "server" else served.on_store
        tried = command("import", path, "--dry-run", "--json")
        taken = command("import", path, "--json")
        again = command("import", path, "--json")
        listed = command("ls", "--json", "--all", "--kind", "agent")
    finally:
        served.stop()
    assert taken.code == 0, taken.err
    for each in (tried, taken):
        assert [task["paused"] for task in each.json["tasks"]] == [False]
    assert (taken.json["new"], again.json["same"]) == (1, 1)
    ids = [task["id"] for task in listed.json]
    assert [[task["id"] for task in each.json["tasks"]] for each in (tried, taken, again)] == [[None], ids, ids]
    assert [task["state"] for task in listed.json] == ["active"]
    assert [[task["lane"], *task["policies"]["lanes"]] for task in listed.json] == [["group:main", "agents"]]
