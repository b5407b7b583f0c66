"""Commands in answers of `horae mcp` reach the store that the server was started with."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.command_line import Cli
from tests.mcp.process import desk_of, started
from tests.mcp.stage import PERSON, text_of
from tests.mcp.stage import desk_of as desk_in_memory
from tests.unit.service.service_harness import open_harness

BARE = re.compile(r"(?<![\w/.-])(?<!-m )horae (?:approve|up|events|agent|owner|secret)\b")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


async def test_commands_in_answers_name_the_store_of_the_server(cli: Cli) -> None:
    store = f"sqlite:///{cli.directory}/other.db"
    async with desk_of(cli, "--store", store) as desk:
        said = await desk.raw(
            "schedule_task", when="every 1h, 3 times", do={"http": "https://example.com/hook"}, name="horae up"
        )
        data = said.structured_content or {}
        messages = {each["code"]: each["message"] for each in data["warnings"]}
        approve = f"horae --store {store} approve {data['task']['id']}"
        assert messages["awaiting_approval"].endswith(approve)
        assert f"'horae --store {store} up'" in messages["no_engine"]
        assert approve in text_of(said)
        assert "Scheduled 'horae up'" in text_of(said), "the name of a task is no command"
        assert approve in await desk.line("pause_task", id=data["task"]["id"])
        assert approve in (await desk("explain_task", id=data["task"]["id"]))["sentence"]
        heard = await desk("schedule_task", when="every 1h, 3 times", do="look at the mail")
        assert f"horae --store {store} events --follow" in json.dumps(heard["warnings"])
        refused = await desk.line("schedule_task", when="every 10s", do="x")
        assert f"horae --store {store} agent set" in refused
        chinese = await desk.line("schedule_task", when="每1小时，共3次", do="看邮件")
        assert f"horae --store {store} up" in chinese
    done = await asyncio.to_thread(cli, *shlex.split(approve)[1:], "--yes")
    assert done.code == 0, done


async def test_commands_in_answers_begin_with_the_program_as_the_client_started_it(cli: Cli) -> None:
    program = Path(sys.executable).with_name("horae")
    elsewhere = [each for each in os.environ["PATH"].split(os.pathsep) if not (Path(each) / "horae").exists()]
    server = started(cli)
    server.command, server.args = str(program), server.args[2:]
    server.env = {**(server.env or {}), "PATH": os.pathsep.join(elsewhere)}
    async with desk_of(cli, server=server) as desk:
        line = await desk.line("schedule_task", when="every 1h, 3 times", do="x")
        assert f"{program} up" in line
        assert not BARE.search(line)


async def test_commands_in_answers_over_http_name_no_store() -> None:
    async with open_harness() as house, desk_in_memory(house, PERSON) as desk:
        heard = await desk("schedule_task", when="every 1h, 3 times", do="look at the mail")
        assert "'horae events --follow'" in json.dumps(heard["warnings"])
