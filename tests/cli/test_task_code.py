"""A task as CLI, HTTP, Python and MCP text: each text, run as it is, stores the same task."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import subprocess
from typing import Any

import pytest

from horae import parse
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings
from horae.wire.tasks.code import cli_command, http_request, mcp_call, python_program
from horae.wire.tasks.task import definition_json, read_task
from tests.api.api_server import serve_api
from tests.cli.command_line import Cli, patched_process
from tests.mcp.tool_client import PERSON, tools_for

ODD = """it's "$HOME" `id` \\ 100% 中文 🕰"""
BODIES: list[dict[str, Any]] = [
    {"name": "plain", "when": "every 10m", "zone": "UTC", "target": {"kind": "event", "say": "hello"}},
    {
        "name": ODD,
        "when": "每天早上9点",
        "zone": "Asia/Shanghai",
        "target": {"kind": "event", "topic": "shop.open", "say": f"{ODD}\nline two"},
        "payload": {"text": ODD, "list": [1, None, True, 2.5]},
        "key": "a key",
        "lane": "reports",
        "labels": {"team": "ops", "odd": ODD[:20]},
        "policies": {
            "missed": {"mode": "all", "within": "2h", "limit": 7},
            "overlap": "queue",
            "retry": {"attempts": 5, "backoff": "10s", "factor": 3, "max": "5m", "jitter": "none"},
            "give_up_after": None,
            "timeout": "90s",
            "max_duration": None,
            "guarantee": "at_most_once",
            "priority": -7,
            "notify_after": 2,
        },
    },
    {
        "name": "call",
        "when": {"kind": "cron", "expression": "0 9 * * 1-5", "zone": "Europe/Berlin"},
        "target": {
            "kind": "http",
            "url": "https://example.com/hook?a=1&b=2",
            "method": "PUT",
            "headers": {"Authorization": ["Bearer ", {"secret": "token"}]},
        },
        "policies": {"missed": {"mode": "latest", "within": "1h"}, "retry": {"attempts": None}},
    },
    {
        "name": "bare call",
        "when": "every 2 hours",
        "zone": "UTC",
        "target": {"kind": "http", "url": "https://example.com/"},
    },
    {
        "name": "function",
        "when": "2999-12-24 18:00",
        "zone": "UTC",
        "target": {"kind": "function", "name": "shop.report"},
        "payload": {"city": "Berlin"},
        "policies": {"missed": {"limit": 3}, "timeout": 30, "max_duration": 90.5},
    },
    {
        "name": "command",
        "when": "every day at 09:00",
        "zone": "UTC",
        "target": {"kind": "command", "argv": ["date", "--date", ODD]},
        "policies": {"missed": {"mode": "skip", "within": 60}},
    },
]
SETTINGS = read_settings({"HORAE_COMMAND_ALLOW": "date"})
_IDS = [each["name"][:12] for each in BODIES]


def expected_definition(body: dict[str, Any]) -> dict[str, Any]:
    """Return what the service stores for a body, without the owner."""

    async def store() -> dict[str, Any]:
        book = make_store("memory://")
        await book.open()
        service = make_service("memory://", book, SystemClock(), "UTC", TargetKinds(SETTINGS))
        task = await service.tasks.create(LOCAL, read_task(body))
        await book.close()
        return definition_json(task)

    return asyncio.run(store()) | {"owner": None}


def stored_by(cli: Cli) -> dict[str, Any]:
    (task,) = cli("ls", "--all", "--json").json
    return {name: task[name] for name in expected_fields()} | {"owner": None}


def expected_fields() -> tuple[str, ...]:
    return "name", "when", "zone", "target", "payload", "key", "lane", "labels", "policies"


def words_of(cli: Cli, command: str) -> list[str]:
    """Let a shell split the command; the program that it finds prints its arguments."""
    programs = cli.directory / "bin"
    programs.mkdir()
    (programs / "horae").write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    (programs / "horae").chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", "-c", command], env=environment, capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("body", BODIES, ids=_IDS)
def test_cli_text_stores_the_same_task(cli: Cli, body: dict[str, Any]) -> None:
    done = cli(*words_of(cli, cli_command(body)), HORAE_COMMAND_ALLOW="date")
    assert done.code == 0, done.err
    assert stored_by(cli) == expected_definition(body)


@pytest.mark.parametrize("body", BODIES, ids=_IDS)
def test_python_text_stores_the_same_task(cli: Cli, body: dict[str, Any]) -> None:
    program = cli.directory / "make_task.py"
    is_once = parse(body["when"], zone="UTC").kind == "once"
    program.write_text(python_program(body, is_once=is_once), encoding="utf-8")
    with patched_process(cli.directory, (), cli.environment(HORAE_COMMAND_ALLOW="date")):
        runpy.run_path(str(program), run_name="__main__")
    assert stored_by(cli) == expected_definition(body)


async def test_http_text_stores_the_same_tasks() -> None:
    async with serve_api() as api:
        for body in BODIES[:-1]:  # the server allows no command
            process = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                http_request(body, api.base),
                env={**os.environ, "TOKEN": api.tokens["admin"], "no_proxy": "*"},
                stdout=subprocess.PIPE,
            )
            answer, _ = await process.communicate()
            stored = json.loads(answer)
            assert "id" in stored, answer
            expected = await asyncio.to_thread(expected_definition, body)
            assert {name: stored[name] for name in expected} | {"owner": None} == expected


async def test_mcp_call_stores_the_same_task_but_for_the_fields_that_it_names() -> None:
    for body in BODIES:
        left_out, text = mcp_call(body)
        async with tools_for() as (harness, tools):
            call = json.loads(text)
            made = await tools(call["name"], **call["arguments"])
            task = (await harness.tasks.get(PERSON, made["task"]["id"])).task
        expected = await asyncio.to_thread(expected_definition, body)
        stored = definition_json(task)
        same = {"name", "when", "zone", "payload", "key"} - set(left_out)
        assert {name: stored[name] for name in same} == {name: expected[name] for name in same}
        assert (stored["policies"]["missed"] == expected["policies"]["missed"]) or "policies.missed" in left_out
