"""An agent that executes its prompt as Python, in both sandboxes, and what tests read of its attacks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from horae.agents.requests.request_host import RequestHost
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group
from horae.model.run import Run
from horae.service.accounts.audit import AuditFilter
from tests.agents.turns.agent_host import AgentHost

ATTACKER: Final = (
    "python3",
    "-c",
    """
import json, os, sys
given = json.load(sys.stdin)
def emit(result):
    body = json.dumps({"status": "success", "result": result})
    print("", "---NANOCLAW_OUTPUT_START---", body, "---NANOCLAW_OUTPUT_END---", sep=chr(10), flush=True)
exec(given["prompt"])
""",
)
"""Agent that executes its prompt as Python."""
in_both = pytest.mark.parametrize("agents", ["bubblewrap", "podman"], indirect=True)


@asynccontextmanager
async def contained(host: AgentHost, group: Group) -> AsyncIterator[None]:
    """After the attack nothing of the agent is left, and the next one of the group works."""
    yield
    assert await host.target.runtime.reap() == []
    assert (await attack(host, group, "emit('hello')")).result == "hello"


async def attack(host: AgentHost, group: Group, code: str) -> Run:
    return await host.ended(await host.add_task(group, code))


def log_of(host: AgentHost, group: Group, run: Run) -> str:
    return (host.target.workspace.logs(group.folder) / f"{run.id}.log").read_text(encoding="utf-8")


async def serve(host: AgentHost, action: str) -> list[dict[str, Any]]:
    """Carry out the requests, and return the details of the audit rows of this action, which are written when it is over."""
    requests = RequestHost(host.app.service, host.app.clock, host.target.workspace)
    while await requests.watcher.look():
        pass

    async def rows() -> list[dict[str, Any]]:
        await requests.watcher.look()
        page = await host.app.service.audit.page(LOCAL, wanted=AuditFilter(action=action))
        return [dict(row.detail) for row in page.items]

    found: list[dict[str, Any]] = await host.until(rows, "audit row")
    return found


def answers(host: AgentHost, group: Group) -> dict[str, dict[str, str]]:
    folder = host.target.workspace.group_ipc(group.folder) / "answers"
    return {path.stem: json.loads(path.read_text()) for path in folder.iterdir()}
