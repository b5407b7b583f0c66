"""Real servers on loopback that receive messages: HTTP for `json://`, and SMTP for `mailto://`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from email import message_from_bytes
from email.message import Message as Mail
from typing import Any


class HttpReceiver:
    """Answers each POST with the next of `statuses`, then with 200. `headers` are lines of every answer."""

    def __init__(self) -> None:
        self.port = 0
        self.arrived = asyncio.Event()
        self.statuses: list[int] = []
        self.headers: list[str] = []
        self.messages: list[dict[str, Any]] = []
        self.connections = 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"json://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
            self.messages.append(json.loads(await reader.readexactly(length)))
            self.arrived.set()
            status = self.statuses.pop(0) if self.statuses else 200
            lines = [f"HTTP/1.1 {status} Answer", "Content-Length: 0", "Connection: close", *self.headers]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            await writer.drain()
        finally:
            writer.close()


class SmtpReceiver:
    """Accepts mail without authentication; `refusal` is the code with which it refuses every recipient."""

    def __init__(self) -> None:
        self.port = 0
        self.arrived = asyncio.Event()
        self.refusal: int | None = None
        self.mails: list[Mail] = []

    @property
    def url(self) -> str:
        return f"mailto://127.0.0.1:{self.port}?from=horae@example.org&to=ops@example.org&mode=insecure"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 test\r\n")
        with suppress(ConnectionError):
            while line := await reader.readline():
                command = line[:4].upper().strip()
                if command == b"DATA":
                    writer.write(b"354 go on\r\n")
                    self.mails.append(message_from_bytes(await reader.readuntil(b"\r\n.\r\n")))
                    self.arrived.set()
                refused = command == b"RCPT" and self.refusal is not None
                writer.write(f"{self.refusal} no\r\n".encode() if refused else b"250 ok\r\n")
                if command == b"QUIT":
                    break
        writer.close()


@asynccontextmanager
async def http_receiver() -> AsyncIterator[HttpReceiver]:
    receiver = HttpReceiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver


@asynccontextmanager
async def smtp_receiver() -> AsyncIterator[SmtpReceiver]:
    receiver = SmtpReceiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    async with server:
        yield receiver
