"""A real Redis on this machine, on a free port and with nothing on the disk; installed when it is missing and we are root."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as NotThereYet

from tests.servers.programs import program

PATIENCE = 30


class RedisServer:
    """`published` holds every message that was published."""

    def __init__(self, *, password: str | None = None) -> None:
        self.url = ""
        self.published: list[tuple[str, bytes]] = []
        self._password = password
        self._client: Any = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[RedisServer]:
        with _running(self._password) as port:
            self.url = f"redis://127.0.0.1:{port}/0"
            async with asyncio.timeout(PATIENCE), Redis(port=port, password=self._password) as client:
                await _answers(client)
                self._client = client
                async with client.pubsub() as subscription:
                    await subscription.psubscribe("*")
                    listening = asyncio.ensure_future(self._listen(subscription))
                    yield self
                    listening.cancel()

    async def allow(self, permission: str) -> None:
        """`-publish` forbids it for all users, `+publish` allows it again."""
        await self._client.execute_command("ACL", "SETUSER", "default", permission)

    async def wait_for(self, number: int) -> list[tuple[str, bytes]]:
        """Wait for this many messages, and return all."""
        while len(self.published) < number:
            await self._client.ping()
        return self.published

    async def _listen(self, subscription: Any) -> None:
        async for message in subscription.listen():
            if message["type"] == "pmessage":
                self.published.append((message["channel"].decode(), message["data"]))


async def _answers(client: Any) -> None:
    while True:
        try:
            await client.ping()
        except NotThereYet:
            continue
        return


@contextmanager
def _running(password: str | None) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            program("redis-server", package="redis-server"),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            folder,
        ]
        command += [] if password is None else ["--requirepass", password]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            try:
                yield port
            finally:
                server.terminate()
