"""A node that runs agents of groups with real processes, for tests of turns; on a SQLite store unless a test names another."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

from horae import Horae
from horae.agents.target.target import AgentTarget
from horae.engine.settings import EngineSettings
from horae.model.accounts.principal import LOCAL
from horae.model.agents.delivery import PENDING_KIND, Delivery, delivery_from
from horae.model.agents.group import Group
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.ports.channel import IncomingMessage
from horae.ports.chat_messages import ChatMessage, read_chat_message, to_stream_message
from horae.ports.store import RunFilter, Terms
from horae.service.tasks.task_request import NEVER, Options, RetryRequest, TaskRequest

ECHO = ("horae-agent", "--poll", "0.02")
"""Echo mind that looks for messages often, so that tests need not wait."""
SENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
WITHIN = 30.0
SETTINGS = EngineSettings(terms=Terms(lease=timedelta(seconds=4), poll_ceiling=timedelta(seconds=1)))
"""A host that was killed is found soon."""
TURN_OPTIONS = Options(
    retry=RetryRequest(attempts=6, backoff=timedelta(milliseconds=50), factor=1, jitter="none"),
    priority=-1,
    give_up_after=NEVER,
)


SCRIPTED = (sys.executable, str(Path(__file__).with_name("scripted_agent.py")), "/workspace/ipc/input")
"""Agent that does what its messages say."""
SCRIPTED_INSIDE = ("python3", "-c", Path(SCRIPTED[1]).read_text(encoding="utf-8"), SCRIPTED[2])
"""The same in any sandbox, which does not see the file."""


class AgentHost:
    """An open app with its target."""

    def __init__(self, app: Horae, target: AgentTarget) -> None:
        self.app = app
        self.target = target

    @property
    def store(self) -> Any:
        return self.app.store

    async def add_group(self, folder: str = "family", **fields: Any) -> Group:
        fields = {"requires_trigger": False, "zone": "UTC", **fields}
        return await self.app.service.groups.add(LOCAL, folder, f"web:{folder}", **fields)

    async def post(self, group: Group, *texts: str, sender: str = "Ada") -> None:
        """Append messages of a person to the chat of a group, as the intake of channels does."""
        for text in texts:
            name = token_hex(8)
            report = IncomingMessage(group.chat, name, name, sender, sender, text, SENT)
            message = to_stream_message(group.stream, group.channel, report, self.app.clock.now())
            await self.store.append_messages(group.owner, [message])

    async def ask_turn(self, group: Group, **options: Any) -> Task:
        """Ask for a turn of messages, as the router does."""
        spec = json.dumps({"group": group.folder, "messages": True})
        request = TaskRequest("turn", "now", Target("agent", spec), options=TURN_OPTIONS._replace(**options))
        return await self.app.service.system_tasks.create(group.owner, request)

    async def add_task(self, group: Group, prompt: str = "Say hello.", when: Any = "now", **fields: Any) -> Task:
        options = fields.pop("options", Options(retries=0))
        spec = json.dumps({"group": group.folder, **fields})
        payload = json.dumps({"prompt": prompt})
        request = TaskRequest("prompt", when, Target("agent", spec), payload, group.owner, options=options)
        return await self.app.service.tasks.create(LOCAL, request)

    async def ended(self, task: Task) -> Run:
        """Wait for the last run of the task's occurrence."""
        async with asyncio.timeout(WITHIN):
            return await self.app._waiters.wait_for_end(lambda: self.app.store, task.id, None)

    async def chat(self, group: Group) -> list[ChatMessage]:
        messages: list[ChatMessage] = []
        after: int | None = 0
        while after is not None:
            page = await self.store.read_messages(group.owner, group.stream, after, 200)
            messages += [] if page is None else map(read_chat_message, page.messages)
            after = None if page is None else page.next_after
        return messages

    async def answers(self, group: Group) -> list[str]:
        return [each.text for each in await self.chat(group) if each.is_own]

    async def deliveries(self, group: Group) -> list[Delivery]:
        page = await self.store.records(PENDING_KIND, group.owner)
        return [delivery_from(record) for record in page.items]

    async def handled(self, group: Group) -> int:
        state = await self.store.stream(group.owner, group.stream)
        return next((each.number for each in state.cursors if each.reader == "handled"), 0)

    async def until_answers(self, group: Group, *texts: str) -> None:
        """Wait until the chat has exactly these answers."""
        await self.until(lambda: self._has_answers(group, texts))

    async def _has_answers(self, group: Group, texts: Sequence[str]) -> bool:
        answers = await self.answers(group)
        assert answers == list(texts[: len(answers)]), answers
        return len(answers) == len(texts)

    async def until_file(self, group: Group, name: str) -> None:
        """Wait until the agent has written a file to the directory of its group."""
        await self.until(lambda: self._has_file(group, name))

    async def _has_file(self, group: Group, name: str) -> bool:
        return (self.target.workspace.group(group.folder) / name).exists()

    def journal(self, group: Group) -> list[str]:
        """Starts and ends of the scripted agents of a group."""
        path = self.target.workspace.group(group.folder) / "journal"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    async def runs(self, task: Task) -> list[Run]:
        """Runs of a task, newest first."""
        return list((await self.store.runs(RunFilter(None, task.id), limit=50)).items)

    async def stop(self, task: Task) -> Run:
        """Stop the live run of a task, and wait for its end."""
        (run, *_) = await self.runs(task)
        await self.app.service.runs.cancel(LOCAL, run.id)
        return await self.ended(task)

    async def until(self, happened: Any, what: str = "the expected state") -> Any:
        """Wait until an async condition is true; the store has no event for it."""
        try:
            async with asyncio.timeout(WITHIN):
                while not (value := await happened()):
                    await self.app.clock.pause(0.02)
                return value
        except TimeoutError:
            raise AssertionError(f"no {what} in time") from None


@asynccontextmanager
async def open_host(
    folder: Path,
    program: Sequence[str] = ECHO,
    *,
    store: str | None = None,
    node_name: str | None = None,
    **settings: Any,
) -> AsyncIterator[AgentHost]:
    """Open a node on this store, or on that of the folder."""
    table = {
        "enabled": True,
        "runtime": "process",
        "allow_process": True,
        "program": list(program),
        "directory": str(folder / "agents"),
        **settings,
    }
    engine = replace(SETTINGS, node_name=node_name)
    app = Horae(store or f"sqlite:///{folder}/horae.db", zone="UTC", targets={"agent": table}, settings=engine)
    async with app:
        target = app._targets["agent"]
        assert isinstance(target, AgentTarget), target
        yield AgentHost(app, target)


OpenAgents = Callable[..., AbstractAsyncContextManager[AgentHost]]
"""Opens a host with scripted agents, or the program that is given; the fixture `agents`."""
