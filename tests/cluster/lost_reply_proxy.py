"""Proxy that passes a COMMIT to the server and drops the reply: it is done, and the client sees an error (F16).

A single statement that writes commits by itself. PostgreSQL receives the text of a prepared statement once and then
only its name, so the proxy remembers the names of such statements. Redis receives the digest of a script.
"""

from __future__ import annotations

import random
import re
from asyncio import StreamReader, StreamWriter
from typing import Any, Final, cast

from horae.stores.redis.scripts import load_script
from tests.servers.proxy import Proxy

_COMMIT: Final = re.compile(rb"\bCOMMIT\b", re.IGNORECASE)
"""The statement, not `read committed`, with which every connection begins."""
_PREPARED: Final = re.compile(rb"P.{4}(__asyncpg_stmt_\w+)\x00([^\x00]*)\x00", re.DOTALL)
_BOUND: Final = re.compile(rb"B.{4}\x00(__asyncpg_stmt_\w+)\x00", re.DOTALL)
_WRITES_ALONE: Final = (b"SKIP LOCKED", b"INSERT INTO")
"""Text that only a statement contains that locks and writes at once."""
_SCRIPTS: Final = ("commit", "renew")
"""Scripts on Redis that commit. A lost reservation alone returns after seconds, and would be most of what is lost."""
_DIGESTS: Final = re.compile(
    b"EVALSHA\r\n\\$40\r\n(%b)" % b"|".join(load_script(each).digest.encode() for each in _SCRIPTS)
)


class LostReplyProxy(Proxy):
    """Works like `Proxy` until `lose_replies` is called."""

    def __init__(self, target_port: int) -> None:
        super().__init__(target_port)
        self._left = 0
        self._spare_share = 0.0
        self._chance = random.Random(1)
        self.lost = 0
        """Number of dropped replies."""

    def lose_replies(self, answers: int, *, spare_share: float = 0.0) -> None:
        """Commit the next `answers` transactions, and reset their connections before the reply.

        A random share `spare_share` of commits gets its reply: a node without claims would have nothing to settle.
        """
        self._spare_share = spare_share
        self._left = answers

    def should_lose(self) -> bool:
        if self._left == 0 or self._chance.random() < self._spare_share:
            return False
        self._left -= 1
        self.lost += 1
        return True

    def _take(self, reader: StreamReader, writer: StreamWriter) -> None:
        client = _Client(self, reader, writer)
        super()._take(cast("StreamReader", client), cast("StreamWriter", client))


class _Client:
    """Client side of a connection: reads requests, and may drop replies."""

    def __init__(self, proxy: LostReplyProxy, reader: StreamReader, writer: StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._drops_reply = False
        self._write_statements: set[bytes] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    async def read(self, most: int) -> bytes:
        piece = await self._reader.read(most)
        self._drops_reply = self._commits(piece) and self._proxy.should_lose()
        return piece

    def _commits(self, piece: bytes) -> bool:
        for name, text in _PREPARED.findall(piece):
            if all(word in text for word in _WRITES_ALONE):
                self._write_statements.add(name)
        return (
            _DIGESTS.search(piece) is not None
            or _COMMIT.search(piece) is not None
            or any(name in self._write_statements for name in _BOUND.findall(piece))
        )

    def write(self, piece: bytes) -> None:
        if self._drops_reply:
            raise ConnectionResetError("the answer to a commit is lost")
        self._writer.write(piece)
