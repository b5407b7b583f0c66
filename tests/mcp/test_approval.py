"""Approval on the command line of tasks that an agent schedules, and stopping the agent."""

from __future__ import annotations

import asyncio

from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.mcp.stdio_server import connect_stdio


async def test_approved_task_of_an_agent_needs_approval_again_after_an_edit(cli: Cli) -> None:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        calling = {"http": "https://example.com/hook"}
        made = await tools("schedule_task", when="every 1h, 3 times", do=calling, name="hook")
        assert f"horae approve {made['task']['id']}" in made["warnings"][0]["message"]
        refused = await asyncio.to_thread(cli, "approve", "hook")
        assert (refused.code, refused.out) == (ExitCode.USAGE, "")
        for shown in ("https://example.com/hook", "helper", "every hour, 3 times"):
            assert shown in refused.err
        assert (await tools("get_task", id="hook"))["task"]["state"] == "paused"
        done = await asyncio.to_thread(cli, "approve", "hook", "--yes", "--json")
        check_schema("task", done.json)
        assert (await tools("get_task", id="hook"))["task"]["state"] == "active"
        await tools("update_task", id="hook", do={"http": "https://example.com/other"})
        assert (await tools("get_task", id="hook"))["task"]["state"] == "paused"
        again = await asyncio.to_thread(cli, "approve", "hook", "--yes", "--lang", "zh")
        assert "按现状运行" in again.out
        stopped = await asyncio.to_thread(cli, "agent", "stop", "helper", "--json")
        check_schema("agent", stopped.json)
        assert stopped.json == {"agent": "helper", "tasks": 1, "stopped": True}
        assert await tools.refused("schedule_task", when="every 1h, 3 times", do="x") == "agent_stopped"
        assert "1 task resumed" in (await asyncio.to_thread(cli, "agent", "restart", "helper")).out
        assert (await tools("schedule_task", when="every 1h, 3 times", do="x"))["change"] == "new"


async def test_agent_reads_why_its_task_was_rejected(cli: Cli) -> None:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        await tools("schedule_task", when="every 1h, 3 times", do={"http": "https://example.com/hook"}, name="hook")
        rejected = await asyncio.to_thread(cli, "reject", "hook", "--reason", "twice a day is enough", "--json")
        check_schema("task", rejected.json)
        task = (await tools("get_task", id="hook"))["task"]
        assert (task["state"], task["labels"]["horae/rejected"]) == ("cancelled", "twice a day is enough")
        assert "The user rejected it: twice a day is enough" in await tools.line("get_task", id="hook")
        assert (await asyncio.to_thread(cli, "reject", "hook")).code == ExitCode.OK


def test_approve_is_refused_for_a_task_that_does_not_await_it(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "mine")
    assert cli("approve", "mine", "--yes").code == ExitCode.CONFLICT
    assert cli("approve", "nothing", "--yes").code == ExitCode.NOT_FOUND
    assert (cli("reject", "mine").code, cli("reject", "nothing").code) == (ExitCode.CONFLICT, ExitCode.NOT_FOUND)
    assert cli("agent", "stop", "no such agent").code == ExitCode.INVALID
    assert cli("approve", "mine", "--yes", "--server", "http://127.0.0.1:1").code == ExitCode.NOT_ALLOWED
