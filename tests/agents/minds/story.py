"""Parts of the whole story: a node with agents in an XMPP room, a clock that travels, and what is read of its state."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from horae import Horae
from horae.clock import SystemClock
from horae.model.agents.delivery import FINISHED_KIND, delivery_from
from horae.model.run import Run, RunState
from horae.model.task import Task
from horae.ports.store import RunFilter
from horae.runtime.agents.host import AGENT_SETTINGS, AgentCompanion
from horae.settings import read_settings
from tests.channels.xmpp_service import XmppChats
from tests.servers.ports import HOST
from tests.servers.prosody import DOMAIN

ZONE: Final = "Asia/Shanghai"
WITHIN: Final = 120.0


class TravellingClock(SystemClock):
    """Runs like the machine's clock, some time ahead of it."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self._ahead

    def travel_to(self, instant: datetime) -> None:
        self._ahead += instant - self.now()


@asynccontextmanager
async def node(folder: Path, room: XmppChats, clock: TravellingClock, table: dict[str, Any]) -> AsyncIterator[Horae]:
    """A node with a host of agents, as `horae up --agents` composes it."""
    password = folder / "password"
    password.write_text(room._password)
    channel = {
        "jid": f"{room.account}@{DOMAIN}",
        "password_file": str(password),
        "rooms": [room.chat],
        "nick": "Andy",
        "host": HOST,
        "port": room.server.port,
        "ca_file": str(room.server.certificate),
    }
    file = folder / "horae.toml"
    file.write_text("[channels.xmpp]\n" + "".join(f"{name} = {json.dumps(each)}\n" for name, each in channel.items()))
    agents = {"directory": str(folder / "agents"), **table}
    app = Horae(f"sqlite:///{folder}/horae.db", zone=ZONE, targets={"agent": agents}, clock=clock)
    app.accompany(AgentCompanion(read_settings({}, (file,)), clock), AGENT_SETTINGS)
    async with app:
        yield app


async def heard(room: XmppChats, beginning: str) -> str:
    """Wait until the assistant has written a text with this beginning into the room; return the text."""

    def found() -> str | None:
        texts = [
            each.findtext("{jabber:client}body") or ""
            for each in room.ann.seen
            if each.get("from", "").endswith("/Andy")
        ]
        return next((text for text in texts if text.startswith(beginning)), None)

    async with asyncio.timeout(WITHIN), room.ann._arrived:
        text = await room.ann._arrived.wait_for(found)
    assert text
    return text


async def until(clock: TravellingClock, read: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """Wait until the value is as expected: it is written after the answer."""
    async with asyncio.timeout(WITHIN):
        while await read() != expected:
            await clock.pause(0.05)


async def sent_texts(app: Horae, owner: str) -> set[str]:
    page = await app.store.records(FINISHED_KIND, owner)
    return {delivery_from(record).text for record in page.items}


async def next_run(snapshot: Path) -> datetime:
    (shown,) = json.loads(snapshot.read_text())
    return datetime.fromisoformat(shown["next_run"])


async def ended_run(app: Horae, task: Task) -> Run:
    """Wait for the end of the only run of the task."""
    async with asyncio.timeout(WITHIN):
        while not (runs := (await app.store.runs(RunFilter(None, task.id), limit=5)).items) or (
            runs[0].state is RunState.RUNNING
        ):
            await app.clock.pause(0.02)
    (run,) = runs
    return run
