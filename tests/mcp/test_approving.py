"""The person's side: what an agent wants is looked at and let through on the command line, and one word stops it all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.mcp.process import desk_of


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


async def test_a_person_approves_what_an_agent_wants_and_an_edit_closes_it_again(cli: Cli) -> None:
    async with desk_of(cli, "--agent", "helper") as desk:
        calling = {"http": "https://example.com/hook"}
        made = await desk("schedule_task", when="every 1h, 3 times", do=calling, name="hook")
        assert f"horae approve {made['task']['id']}" in made["warnings"][0]["message"]
        refused = await asyncio.to_thread(cli, "approve", "hook")
        assert (refused.code, refused.out) == (ExitCode.USAGE, "")
        for shown in ("https://example.com/hook", "helper", "every hour, 3 times"):
            assert shown in refused.err
        assert (await desk("get_task", id="hook"))["task"]["state"] == "paused"
        done = await asyncio.to_thread(cli, "approve", "hook", "--yes", "--json")
        check_schema("task", done.json)
        assert (await desk("get_task", id="hook"))["task"]["state"] == "active"
        await desk("update_task", id="hook", do={"http": "https://example.com/other"})
        assert (await desk("get_task", id="hook"))["task"]["state"] == "paused"
        again = await asyncio.to_thread(cli, "approve", "hook", "--yes", "--lang", "zh")
        assert "按现状运行" in again.out
        stopped = await asyncio.to_thread(cli, "agent", "stop", "helper", "--json")
        check_schema("agent", stopped.json)
        assert stopped.json == {"agent": "helper", "tasks": 1, "stopped": True}
        assert await desk.refused("schedule_task", when="every 1h, 3 times", do="x") == "agent_stopped"
        assert "1 task resumed" in (await asyncio.to_thread(cli, "agent", "restart", "helper")).out
        assert (await desk("schedule_task", when="every 1h, 3 times", do="x"))["change"] == "new"


def test_what_waits_for_nobody_cannot_be_approved(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "mine")
    assert cli("approve", "mine", "--yes").code == ExitCode.CONFLICT
    assert cli("approve", "nothing", "--yes").code == ExitCode.NOT_FOUND
    assert cli("agent", "stop", "no such agent").code == ExitCode.INVALID
    assert cli("approve", "mine", "--yes", "--server", "http://127.0.0.1:1").code == ExitCode.NOT_ALLOWED
