"""Host process that kills itself with SIGKILL at one point of a turn: `python killed_host.py FOLDER POINT SETTINGS`.

SETTINGS are those of `open_host`, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from horae.agents.target.agent_run import AgentRun
from horae.agents.target.input_directory import InputDirectory
from horae.agents.target.turn_state import CommitResult, TurnState
from horae.service.tasks.task_request import Options, RetryRequest
from tests.agents.turns.agent_host import SCRIPTED_INSIDE, open_host

POINTS = ("started", "committing", "committed", "idle", "piped", "piped_committing", "piped_committed")
TASK_OPTIONS = Options(retry=RetryRequest(attempts=3, backoff="50ms", jitter="none"))
TASK_POINTS = ("task_committing", "task_committed", "task_ended")
"""Points of a scheduled prompt, which says one text."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_at(point: str) -> None:
    """Make this process die at the point; a point of `piped` messages is one of the second batch."""
    batches = 2 if point.startswith("piped") else 1
    commit: Callable[..., Any] = AgentRun._commit
    write = InputDirectory.write_message
    begin = TurnState.__init__

    async def commit_or_die(self: AgentRun, result: CommitResult, log: Any) -> None:
        is_ours = result.batch is not None and commit_or_die.seen + 1 == batches  # type: ignore[attr-defined]
        if point.startswith("task"):
            is_ours = result.text is not None
        if is_ours and point.endswith("committing"):
            die()
        await commit(self, result, log)
        commit_or_die.seen += result.batch is not None  # type: ignore[attr-defined]
        if (is_ours and point.endswith("committed")) or (point in ("idle", "task_ended") and result.is_turn_end):
            die()

    commit_or_die.seen = 0  # type: ignore[attr-defined]

    def write_and_die(self: InputDirectory, text: str) -> None:
        write(self, text)
        if point == "piped":
            die()

    def begin_and_die(self: TurnState, *arguments: Any) -> None:
        begin(self, *arguments)
        if point == "started":
            die()

    AgentRun._commit = commit_or_die  # type: ignore[method-assign]
    InputDirectory.write_message = write_and_die  # type: ignore[method-assign]
    TurnState.__init__ = begin_and_die  # type: ignore[method-assign,assignment]


async def main(folder: Path, settings: Mapping[str, Any]) -> None:
    async with open_host(folder, SCRIPTED_INSIDE, **settings) as host:
        group = await host.target._groups.find("family")
        assert group is not None
        if sys.argv[2] in TASK_POINTS:
            await host.add_task(group, "say morning", options=TASK_OPTIONS)
            await asyncio.Event().wait()
        await host.ask_turn(group)
        await host.until_answers(group, "one")
        await host.post(group, "hm", "say two")
        host.target.notify("family")
        await asyncio.Event().wait()


if __name__ == "__main__":
    kill_at(sys.argv[2])
    asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[3])))
