"""Commands in answers of `horae mcp` reach the store that the server was started with."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from pathlib import Path

from tests.cli.command_line import Cli
from tests.mcp.stdio_server import connect_stdio, stdio_parameters
from tests.mcp.tool_client import PERSON, connect_in_memory, text_of
from tests.unit.service.service_harness import open_harness

BARE = re.compile(r"(?<![\w/.-])(?<!-m )horae (?:approve|up|events|agent|owner|secret)\b")


async def test_commands_in_answers_name_the_store_of_the_server(cli: Cli) -> None:
    store = f"sqlite:///{cli.directory}/other.db"
    async with connect_stdio(cli, "--store", store) as tools:
        result = await tools.raw(
            "schedule_task", when="every 1h, 3 times", do={"http": "https://example.com/hook"}, name="horae up"
        )
        data = result.structured_content or {}
        messages = {each["code"]: each["message"] for each in data["warnings"]}
        approve = f"horae --store {store} approve {data['task']['id']}"
        assert messages["awaiting_approval"].endswith(approve)
        assert f"'horae --store {store} up'" in messages["no_engine"]
        assert approve in text_of(result)
        assert "Scheduled 'horae up'" in text_of(result), "a task name is not rewritten as a command"
        assert approve in await tools.line("pause_task", id=data["task"]["id"])
        assert approve in (await tools("explain_task", id=data["task"]["id"]))["sentence"]
        made = await tools("schedule_task", when="every 1h, 3 times", do="look at the mail")
        assert f"horae --store {store} events --follow" in json.dumps(made["warnings"])
        refused = await tools.line("schedule_task", when="every 10s", do="x")
        assert f"horae --store {store} agent set" in refused
        chinese = await tools.line("schedule_task", when="每1小时，共3次", do="看邮件")
        assert f"horae --store {store} up" in chinese
    done = await asyncio.to_thread(cli, *shlex.split(approve)[1:], "--yes")
    assert done.code == 0, done


async def test_commands_in_answers_begin_with_the_program_as_the_client_started_it(cli: Cli) -> None:
    program = Path(sys.executable).with_name("horae")
    elsewhere = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "horae").exists()]
    server = stdio_parameters(cli)
    server.command, server.args = str(program), server.args[2:]
    server.env = {**(server.env or {}), "PATH": os.pathsep.join(elsewhere)}
    async with connect_stdio(cli, server=server) as tools:
        line = await tools.line("schedule_task", when="every 1h, 3 times", do="x")
        assert f"{program} up" in line
        assert not BARE.search(line)


async def test_commands_in_answers_over_http_name_no_store() -> None:
    async with open_harness() as harness, connect_in_memory(harness, PERSON) as tools:
        made = await tools("schedule_task", when="every 1h, 3 times", do="look at the mail")
        assert "'horae events --follow'" in json.dumps(made["warnings"])
