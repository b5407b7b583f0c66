"""The path from an OpenClaw job file to an answer in the chat: import, group, `horae up --agents`, all as commands."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.agents.host.up_process import CHAT, WITHIN, ChatNode, chat_node

JOBS = {
    "version": 1,
    "jobs": [
        {
            "id": "job-1",
            "name": "Morning brief",
            "enabled": True,
            "createdAtMs": 1_772_366_400_000,
            "schedule": {"kind": "every", "everyMs": 2_000},
            "sessionTarget": "isolated",
            "wakeMode": "now",
            "payload": {"kind": "agentTurn", "message": "Summarise the night."},
            "delivery": {"mode": "announce", "channel": "telegram", "to": str(CHAT)},
        },
        {
            "id": "job-2",
            "name": "Later",
            "enabled": False,
            "createdAtMs": 1_772_366_400_000,
            "schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "Asia/Shanghai"},
            "sessionTarget": "main",
            "wakeMode": "now",
            "payload": {"kind": "systemEvent", "text": "Look at the calendar."},
        },
    ],
}


async def horae(node: ChatNode, *words: str) -> str:
    """Run one command at the store of the node; it must succeed."""
    environment = {**os.environ, "HORAE_STORE": node.store, "HOME": str(node.folder)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "horae", *words),
        cwd=node.folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WITHIN):
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return out.decode()


async def test_jobs_of_openclaw_answer_in_the_chat_of_their_group(tmp_path: Path) -> None:
    async with chat_node(tmp_path) as node:
        (tmp_path / "jobs.json").write_text(json.dumps(JOBS), encoding="utf-8")
        await horae(node, "group", "add", "main", f"telegram:{CHAT}", "--main", "--zone", "Asia/Shanghai")
        for _ in range(2):
            await horae(node, "import", "jobs.json")
        listed = json.loads(await horae(node, "ls", "--owner", "group:main", "--json"))
        states = {each["name"]: each["state"] for each in listed}
        assert states == {"Morning brief": "active", "Later": "paused"}
        async with node.up() as up:
            await node.until(lambda: any("Summarise the night." in text for _, text in node.service.sent))
        assert {chat for chat, _ in node.service.sent} == {CHAT}, up.errors.decode()
