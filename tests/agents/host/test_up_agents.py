"""The whole path with real parts: `horae up --agents`, a channel, bubblewrap and the echo mind."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agents.host.up_process import CHAT, chat_node


async def test_a_message_in_the_chat_is_answered_in_the_chat(tmp_path: Path) -> None:
    async with chat_node(tmp_path) as node:
        await node.add_group()
        async with node.up() as up:
            assert up.ready["agents"] == {
                "runtime": "bubblewrap",
                "channels": ["telegram", "web"],
                "groups": ["family"],
            }
            node.say("@Andy hello")
            await node.until(lambda: bool(node.service.sent))

        (answer,) = node.service.sent
        assert answer[0] == CHAT
        assert "hello" in answer[1]


SCHEDULING_PROGRAM = """
import json, os, sys, time
from datetime import datetime, timedelta
prompt = sys.stdin.read()
if "SCHEDULED TASK" in prompt:
    print("It is sunny.")
else:
    when = datetime.now() + timedelta(seconds=1.5)
    request = {"type": "schedule_task", "prompt": "Say the weather.", "schedule_type": "once",
               "schedule_value": when.isoformat(timespec="milliseconds"), "context_mode": "isolated"}
    place = "/workspace/ipc/tasks/1-weather.json"
    with open(place + ".tmp", "w") as file:
        json.dump(request, file)
    os.rename(place + ".tmp", place)
    answer = "/workspace/ipc/answers/1-weather.json"
    while not os.path.exists(answer):
        time.sleep(0.02)
    print(json.load(open(answer))["status"])
"""
"""Mind of a test: a message makes it schedule a task by a request file, and the task says the weather."""


async def test_a_message_schedules_a_task_whose_answer_comes_to_the_chat(tmp_path: Path) -> None:
    mind = 'program = ["horae-agent", "--mind", "command", "--", "python3", "/workspace/group/mind.py"]'
    async with chat_node(tmp_path, mind) as node:
        await node.add_group(zone="UTC")
        place = tmp_path / "agents" / "groups" / "family"
        place.mkdir(parents=True)
        (place / "mind.py").write_text(SCHEDULING_PROGRAM, encoding="utf-8")
        async with node.up() as up:
            node.say("@Andy 每天早上9点给我发天气预报")
            await node.until(lambda: len(node.service.sent) == 2)
            node.say("@Andy /tasks")
            await node.until(lambda: len(node.service.sent) == 3)

        assert [text for _, text in node.service.sent[:2]] == ["accepted", "It is sunny."], up.errors.decode()


async def test_no_message_is_lost_or_answered_twice_when_the_host_is_killed(tmp_path: Path) -> None:
    async with chat_node(tmp_path) as node:
        group = await node.add_group()
        async with node.up() as up:
            for number in range(3):
                node.say(f"@Andy number {number};")
                os.kill(await node.holder(), signal.SIGKILL)
                # The supervisor starts the worker again, which takes up what was left.
                wanted = f"number {number};"
                await node.until(lambda wanted=wanted: any(wanted in text for _, text in node.service.sent))  # type: ignore[misc]

        texts = await node.texts(group)
        for number in range(3):
            said = [text for text in texts if f"number {number};" in text and not text.startswith("< ")]
            answered = [text for text in texts if f"number {number};" in text and text.startswith("< ")]
            assert (len(said), len(answered)) == (1, 1), up.errors.decode()


async def test_one_of_two_hosts_receives_and_the_other_takes_over(tmp_path: Path) -> None:
    async with chat_node(tmp_path) as node:
        await node.add_group()
        async with node.up("--node-name", "one") as one, node.up("--node-name", "two"):
            node.say("@Andy first")
            await node.until(lambda: len(node.service.sent) == 1)
            first = await node.holder()
            one.process.send_signal(signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
            node.say("@Andy second")
            # The first answer comes again if the kill was faster than the record that it was sent.
            await node.until(lambda: any("second" in text for _, text in node.service.sent))

            assert await node.holder() != first


async def test_a_runtime_that_does_not_work_here_ends_the_start_with_a_clear_error(tmp_path: Path) -> None:
    async with chat_node(tmp_path, 'runtime = "process"') as node:
        with pytest.raises(AssertionError, match="A plain process is not isolated"):
            async with node.up():
                pass
        assert node.service.calls == []
