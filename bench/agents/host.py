"""A host of agents with the echo mind, and what the benchmark reads of it: starts of the runtime, live agents, answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from horae import Horae
from horae.agents.target.target import AgentTarget
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group
from horae.ports.channel import IncomingMessage
from horae.ports.chat_messages import read_chat_message, to_stream_message
from horae.ports.runtime import RuntimeSpec
from horae.runtime.agents.host import AgentCompanion
from horae.settings import read_settings

LIMIT: Final = 5
_NOW: Final = datetime(2026, 11, 18, tzinfo=UTC)


class BenchHost:
    """`starts` are the instants at which the target called its runtime, each with the group."""

    def __init__(self, app: Horae, target: AgentTarget) -> None:
        self.app = app
        self.starts: list[tuple[float, str]] = []
        self.most_live = 0
        self._number = 0
        start, live = target.runtime.start, target.live

        async def start_and_note(spec: RuntimeSpec) -> Any:
            folders = {each.run_id: each.folder for each in live.all()}
            self.starts.append((perf_counter(), folders[spec.run]))
            self.most_live = max(self.most_live, len(folders))
            return await start(spec)

        target.runtime.start = start_and_note  # type: ignore[method-assign]

    async def add_groups(self, prefix: str, count: int) -> list[Group]:
        names = [f"{prefix}{number}" for number in range(count)]
        groups = self.app.service.groups
        return [await groups.add(LOCAL, name, f"web:{name}", requires_trigger=False) for name in names]

    async def say(self, group: Group, *texts: str) -> None:
        messages = []
        for text in texts:
            self._number += 1
            name = str(self._number)
            report = IncomingMessage(group.chat, name, name, "ada", "Ada", text, _NOW)
            messages.append(to_stream_message(group.stream, "web", report, self.app.clock.now()))
        await self.app.store.append_messages(group.owner, messages)
        self.app.service.note_write()

    async def answers(self, group: Group) -> list[str]:
        page = await self.app.store.read_messages(group.owner, group.stream, max(0, await self._last(group) - 50), 200)
        found = () if page is None else map(read_chat_message, page.messages)
        return [each.text for each in found if each.is_own]

    async def _last(self, group: Group) -> int:
        state = await self.app.store.stream(group.owner, group.stream)
        return 0 if state is None else state.stream.last

    async def until_answered(self, group: Group, text: str) -> None:
        while not any(text in each for each in await self.answers(group)):
            await self.app.clock.pause(0.005)


@asynccontextmanager
async def open_bench(folder: Path, runtime: str) -> AsyncIterator[BenchHost]:
    app = Horae(f"sqlite:///{folder / 'horae.db'}")
    program = ["horae-agent", "--poll", "0.05"]
    table = {"enabled": True, "runtime": runtime, "allow_process": True, "limit": LIMIT, "program": program}
    app.accompany(
        AgentCompanion(read_settings({}), app.clock), {"agent": table | {"directory": str(folder / "agents")}}
    )
    async with app:
        target = app._targets["agent"]  # noqa: SLF001 - its runtime is measured
        assert isinstance(target, AgentTarget), target
        yield BenchHost(app, target)
