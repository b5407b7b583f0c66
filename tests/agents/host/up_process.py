"""A real `horae up --agents` with an imitation of Telegram, for tests of the whole path."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from horae import Horae
from horae.agents.host.lease import LEASE_KIND, read_holder
from horae.model.accounts.principal import LOCAL
from horae.model.agents.group import Group
from horae.ports.chat_messages import read_chat_message
from tests.channels.telegram_service import TOKEN, TelegramService

WITHIN: Final = 60.0
CHAT: Final = -1001
SETTINGS: Final = """
outgoing_networks = ["127.0.0.0/8"]
log_level = "info"
[channels.telegram]
base_url = "{url}"
token_file = "{token}"
[targets.agent]
{agent}
"""


class UpProcess:
    """One process group of `horae up --agents`; its lines are JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready: dict[str, Any] = {}
        self.errors = b""
        self._reader = asyncio.ensure_future(self._read_errors())

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.errors += line

    async def until_ready(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(WITHIN):
            while line := await self.process.stdout.readline():
                found = json.loads(line)
                if found.get("type") == "node.ready":
                    self.ready = found
                    return self.ready
        raise AssertionError(self.errors.decode())

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End the supervisor, and with it the worker; SIGKILL leaves the worker to itself."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(WITHIN):
            await self.process.wait()
        self._reader.cancel()


class ChatNode:
    """A directory with a store, settings and groups, and the service that its channel talks to."""

    def __init__(self, folder: Path, service: TelegramService, agent: str = "") -> None:
        self.folder = folder
        self.service = service
        self.store = f"sqlite:///{folder / 'horae.db'}"
        token = folder / "token"
        token.write_text(TOKEN, encoding="utf-8")
        text = SETTINGS.format(url=service.url, token=token, agent=agent)
        (folder / "horae.toml").write_text(text, encoding="utf-8")

    async def add_group(self, folder: str = "family", chat: int = CHAT, **fields: Any) -> Group:
        async with Horae(self.store, engine=False) as app:
            return await app.service.groups.add(LOCAL, folder, f"telegram:{chat}", **fields)

    def say(self, text: str, chat: int = CHAT, **fields: Any) -> None:
        self.service.add_update("message", self.service.new_message(text, chat, **fields))

    async def texts(self, group: Group) -> list[str]:
        """All texts of the stream of a group; those of the assistant begin with `<`."""
        async with Horae(self.store, engine=False) as app:
            page = await app.store.read_messages(group.owner, group.stream, 0, 200)
        found = () if page is None else map(read_chat_message, page.messages)
        return [("< " if each.is_own else "") + each.text for each in found]

    async def holder(self, duty: str = "channel:telegram") -> int:
        """Return the process that has a duty."""
        async with Horae(self.store, engine=False) as app:
            record = await app.store.get_record(LEASE_KIND, duty)
        assert record is not None
        return int(read_holder(record).home.split("/")[-2])

    async def until(self, is_reached: Callable[[], bool]) -> None:
        """Wait until the service has what a test expects."""
        async with asyncio.timeout(WITHIN):
            while not is_reached():
                await self.service.changed()

    @asynccontextmanager
    async def up(self, *options: str) -> AsyncIterator[UpProcess]:
        environment = {**os.environ, "HORAE_STORE": self.store, "HOME": str(self.folder)}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "horae", "up", "--agents", "--no-api", "--json", *options),
            cwd=self.folder,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        up = UpProcess(process)
        try:
            await up.until_ready()
            yield up
        finally:
            await up.stop()


@asynccontextmanager
async def chat_node(folder: Path, agent: str = "") -> AsyncIterator[ChatNode]:
    service = await TelegramService().start()
    try:
        yield ChatNode(folder, service, agent)
    finally:
        await service.close()
