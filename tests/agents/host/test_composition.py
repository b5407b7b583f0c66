"""Composition of the host of agents with the node: fails when a part is not wired to another."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from horae import Horae
from horae.agents.requests.snapshots import Snapshots
from horae.agents.target.target import AgentTarget
from horae.model.accounts.principal import LOCAL
from horae.runtime.agents.host import AgentCompanion
from horae.settings import read_settings

AGENT = """
import json, sys
json.load(sys.stdin)
tasks = json.load(open(sys.argv[1]))
print("\\n---HORAE_OUTPUT_START---")
print(json.dumps({"status": "success", "result": f"tasks: {[each['prompt'] for each in tasks]}"}))
print("---HORAE_OUTPUT_END---", flush=True)
"""
"""Says which tasks the snapshot has that was written before its start."""


@asynccontextmanager
async def open_app(folder: Path) -> AsyncIterator[Horae]:
    app = Horae(f"sqlite:///{folder / 'horae.db'}", zone="UTC")
    program = [sys.executable, "-c", AGENT, "/workspace/ipc/current_tasks.json"]
    table = {"enabled": True, "runtime": "process", "allow_process": True, "program": program}
    app.accompany(
        AgentCompanion(read_settings({}), app.clock), {"agent": table | {"directory": str(folder / "agents")}}
    )
    async with app:
        yield app


async def texts_of(app: Horae, chat: str) -> list[str]:
    rows = (await app.service.chats.transcript(LOCAL, chat)).messages
    return [row.message.text for row in rows if row.message.is_own]


async def until_text(app: Horae, chat: str, matches: Callable[[str], bool]) -> str:
    async with asyncio.timeout(30):
        while True:
            for text in await texts_of(app, chat):
                if matches(text):
                    return text
            await app.clock.pause(0.02)


async def test_snapshots_are_written_before_an_agent_starts_and_budgets_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write_none(_self: Snapshots) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Snapshots, "run", write_none)
    async with open_app(tmp_path) as app:
        group = await app.service.groups.add(LOCAL, "family", "web:family", requires_trigger=False)
        await app.service.budgets.put(LOCAL, "family", {"runs": 1})
        await app.service.chats.send(LOCAL, group.chat, "hello")
        assert await until_text(app, group.chat, lambda text: text.startswith("tasks")) == "tasks: []"
        await app.service.chats.send(LOCAL, group.chat, "once more")
        assert "budget" in await until_text(app, group.chat, lambda text: not text.startswith("tasks"))
        assert (await app.service.budgets.get(LOCAL, "family")).used.runs == 1


async def test_target_has_the_parts_of_the_service(tmp_path: Path) -> None:
    async with open_app(tmp_path) as app:
        target, service = app._targets["agent"], app.service
        assert isinstance(target, AgentTarget), target
        assert target._budgets is service.budgets
        assert target._stop is service.agent_stop
        assert target._parts.deliveries is service.deliveries.queue
