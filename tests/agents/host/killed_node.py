"""Node with a host of agents that kills itself at one step: `python -m tests.agents.host.killed_node FOLDER STEP COUNT`.

A step is the beginning or the end of an operation, such as `start:before`; COUNT says which time it is reached.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from horae import Horae
from horae.agents.delivery.sender import DeliverySender
from horae.agents.host import turn_tasks
from horae.agents.host.router import Router
from horae.agents.host.turn_tasks import TurnTasks
from horae.agents.requests.executor import RequestExecutor
from horae.agents.requests.inbox import Inbox
from horae.agents.requests.watcher import RequestWatcher
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.target import turn_state
from horae.agents.target.agent_run import AgentRun
from horae.agents.target.target import AgentTarget
from horae.runtime.agents.host import AgentCompanion
from horae.settings import read_settings
from horae.stores.sqlite.store import SQLiteStore
from tests.agents.turns.agent_host import SCRIPTED_INSIDE, SETTINGS

OPERATIONS: Final[Mapping[str, tuple[type, str]]] = {
    "route": (Router, "look"),
    "ask": (TurnTasks, "ask"),
    "claim": (SQLiteStore, "claim_due"),
    "start": (BubblewrapRuntime, "start"),
    "serve": (RequestWatcher, "look"),
    "execute": (RequestExecutor, "execute"),
    "answer": (Inbox, "answer"),
    "commit": (AgentRun, "_commit"),
    "settle": (SQLiteStore, "settle"),
    "send": (DeliverySender, "step"),
}
STEPS: Final = tuple(f"{name}:{side}" for name in OPERATIONS for side in ("before", "after"))


@asynccontextmanager
async def open_node(folder: Path) -> AsyncIterator[tuple[Horae, AgentTarget]]:
    """Open a node with router, watcher of requests, sender and agents in bubblewrap; retries follow soon while it is open."""
    app = Horae(f"sqlite:///{folder}/horae.db", zone="UTC", settings=SETTINGS)
    table = {"enabled": True, "program": [*SCRIPTED_INSIDE, "together"], "directory": str(folder / "agents")}
    app.accompany(AgentCompanion(read_settings({}), app.clock), {"agent": table})
    with pytest.MonkeyPatch.context() as patch:
        # Also in the process of a test, where other tests need the constants as they are.
        patch.setattr(turn_state, "TASK_CLOSE_SECONDS", 0.05)
        patch.setattr(turn_tasks, "RETRY", replace(turn_tasks.RETRY, backoff=timedelta(milliseconds=50), factor=1.0))
        async with app:
            target = app._targets["agent"]
            assert isinstance(target, AgentTarget), target
            yield app, target


def kill_at(step: str, count: int) -> None:
    """Make this process die when it reaches the step for the given time."""
    name, _, side = step.partition(":")
    owner, attribute = OPERATIONS[name]
    operation = getattr(owner, attribute)
    left = count

    def reach(reached: str) -> None:
        nonlocal left
        left -= reached == side
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    async def call_async(*arguments: Any, **options: Any) -> Any:
        reach("before")
        result = await operation(*arguments, **options)
        reach("after")
        return result

    def call(*arguments: Any, **options: Any) -> Any:
        reach("before")
        result = operation(*arguments, **options)
        reach("after")
        return result

    wrapped: Callable[..., Any] = call_async if asyncio.iscoroutinefunction(operation) else call
    setattr(owner, attribute, wrapped)


async def main(folder: Path) -> None:
    async with open_node(folder):
        await asyncio.Event().wait()


if __name__ == "__main__":
    kill_at(sys.argv[2], int(sys.argv[3]))
    asyncio.run(main(Path(sys.argv[1])))
