"""A proxy that lets a COMMIT through, and loses the answer to it: it is done, and reported as an error (F16).

What is written by one statement alone is committed with it. PostgreSQL hears the text of a statement once, and after that
only its name, so the names of such statements are remembered.
"""

from __future__ import annotations

import random
import re
from asyncio import StreamReader, StreamWriter
from typing import Any, Final, cast

from tests.servers.proxy import Proxy

_COMMIT: Final = re.compile(rb"\bCOMMIT\b", re.IGNORECASE)
"""The statement: `read committed`, which every connection begins with, is none."""
_PREPARED: Final = re.compile(rb"P.{4}(__asyncpg_stmt_\w+)\x00([^\x00]*)\x00", re.DOTALL)
_BOUND: Final = re.compile(rb"B.{4}\x00(__asyncpg_stmt_\w+)\x00", re.DOTALL)
_WRITES_ALONE: Final = (b"SKIP LOCKED", b"INSERT INTO")
"""What only a statement says that holds and writes at once."""


class ForgetfulProxy(Proxy):
    """Like any other, until it is told to forget."""

    def __init__(self, target_port: int) -> None:
        super().__init__(target_port)
        self._left = 0
        self._spared = 0.0
        self._chance = random.Random(1)
        self.lost = 0
        """How many answers were lost so far."""

    def forget(self, answers: int, *, spared: float = 0.0) -> None:
        """So many commits from now on are done, and their connections reset before anybody hears of it.

        Between them a share is `spared`, by chance: whoever can claim nothing has nothing to settle either.
        """
        self._spared = spared
        self._left = answers

    def takes_one(self) -> bool:
        if self._left == 0 or self._chance.random() < self._spared:
            return False
        self._left -= 1
        self.lost += 1
        return True

    def _take(self, reader: StreamReader, writer: StreamWriter) -> None:
        client = _Client(self, reader, writer)
        super()._take(cast("StreamReader", client), cast("StreamWriter", client))


class _Client:
    """One end of a connection: what the client says is listened to, and what it is answered may be lost."""

    def __init__(self, proxy: ForgetfulProxy, reader: StreamReader, writer: StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._forgotten = False
        self._alone: set[bytes] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    async def read(self, most: int) -> bytes:
        piece = await self._reader.read(most)
        self._forgotten = self._commits(piece) and self._proxy.takes_one()
        return piece

    def _commits(self, piece: bytes) -> bool:
        for name, text in _PREPARED.findall(piece):
            if all(word in text for word in _WRITES_ALONE):
                self._alone.add(name)
        return _COMMIT.search(piece) is not None or any(name in self._alone for name in _BOUND.findall(piece))

    def write(self, piece: bytes) -> None:
        if self._forgotten:
            raise ConnectionResetError("the answer to a commit is lost")
        self._writer.write(piece)
