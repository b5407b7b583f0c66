"""`python -m tests.api.soak`: a million requests by chance to a real server; it answers all of them, and its memory stays flat.

`SOAK_REQUESTS` (1,000,000) and `SOAK_SEED` (by chance) say how; the seed is printed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.api.deployment import Deployment, deployed
from bench.api.line import Line, Reply, connected
from horae.cli.fast_loop import run_fast
from tests.api.soak_requests import OWNERS, Asked, Fuzz, mark

CONNECTIONS: Final = 16
_MOST_TOLD: Final = 10
WARM: Final = 0.1
"""Memory is looked at when so much of it is done, and at the end."""
MOST_GROWTH: Final = 0.10
_PATIENCE: Final = 60.0
_TASKS_EACH: Final = 100
_RUDE: Final = (
    b"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nX-A: ",
    b"\x00\x01\x02\r\n\r\n",
    b"GET /v1/tasks HTTP/9.9\r\n\r\n",
    b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
    b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET http://[ HTTP/1.1\r\n\r\n",
)
"""Somebody sends this on a line of its own, and goes away without waiting for an answer."""
_RUDE_EVERY: Final = 100
_STREAM_EVERY: Final = 250


@dataclass
class Verdict:
    seed: int
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """The first few that were answered with 5xx or not at all, or that told one owner of the other."""
    streams: int = 0
    memory: list[float] = field(default_factory=list)
    """Megabytes: when it was warm, and at the end."""

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    @property
    def growth(self) -> float:
        early, late = self.memory
        return late / early - 1

    def judge(self, asked: Asked, reply: Reply) -> None:
        self.statuses[reply.status] += 1
        other = OWNERS[OWNERS[0] == asked.who]
        leaked = asked.who is not None and mark(other).encode() in reply.body
        if (reply.status >= 500 or reply.status == 0 or leaked) and len(self.wrong) < _MOST_TOLD:
            what = "leak" if leaked else str(reply.status)
            self.wrong.append(f"{what}: {asked.method} {asked.path[:200]} {asked.body[:300]!r} -> {reply.body[:300]!r}")


class Soak:
    def __init__(
        self, deployment: Deployment, tokens: dict[str, str], requests: int, seed: int, warm: float = WARM
    ) -> None:
        self._there = deployment
        self._tokens = tokens
        self._requests = requests
        self._warm = max(round(requests * warm), 1)
        self._fuzz = Fuzz(seed, tokens, deployment.ask("GET", "/openapi.json"))
        self._drawn = 0
        self.verdict = Verdict(seed)

    async def run(self) -> Verdict:
        process = self._there.api_process
        await asyncio.gather(*(self._ask_on() for _ in range(CONNECTIONS)))
        self._weigh()
        assert self._there.api_process == process, "the server was begun again"
        return self.verdict

    async def _ask_on(self) -> None:
        line = await connected(self._there.base)
        while self._drawn < self._requests:
            self._drawn += 1
            if self._drawn == self._warm:
                self._weigh()
            if self._drawn % _RUDE_EVERY == 0:
                await self._be_rude(self._drawn // _RUDE_EVERY)
            if self._drawn % _STREAM_EVERY == 0:
                await self._listen_a_while()
            line = line if line.is_open else await connected(self._there.base)
            await self._ask_once(line)
        line.close()

    async def _ask_once(self, line: Line) -> None:
        asked = self._fuzz.draw()
        async with asyncio.timeout(_PATIENCE):
            reply = await line.ask(asked.text)
        self.verdict.judge(asked, reply)
        self._fuzz.learn(asked, reply)

    async def _be_rude(self, number: int) -> None:
        line = await connected(self._there.base)
        line.send(_RUDE[number % len(_RUDE)])
        line.close()

    async def _listen_a_while(self) -> None:
        """Open a stream of events, hear the greeting, and go away."""
        reader, writer = await asyncio.open_connection(*_place(self._there.base))
        head = f"Authorization: Bearer {self._tokens[OWNERS[0]]}\r\nAccept: text/event-stream"
        writer.write(f"GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
        async with asyncio.timeout(_PATIENCE):
            heard = await reader.readuntil(b"retry:")
        self.verdict.streams += heard.startswith(b"HTTP/1.1 200 ")
        writer.transport.abort()

    def _weigh(self) -> None:
        self.verdict.memory.append(self._there.api_memory)


def soak(folder: Path, requests: int, seed: int, warm: float = WARM) -> Verdict:
    with deployed(folder) as deployment:
        tokens = {name: deployment.member(name, active_tasks=_TASKS_EACH) for name in OWNERS}
        return run_fast(Soak(deployment, tokens, requests, seed, warm).run())


def _place(base: str) -> tuple[str, int]:
    host, _, port = base.removeprefix("http://").rpartition(":")
    return host, int(port)


def main() -> int:
    requests = int(os.environ.get("SOAK_REQUESTS", "1000000"))
    seed = int(os.environ.get("SOAK_SEED") or secrets.randbits(32))
    print(f"{requests:,} requests, SOAK_SEED={seed}", flush=True)  # noqa: T201 - whoever runs it reads this
    with TemporaryDirectory() as folder:
        verdict = soak(Path(folder), requests, seed)
    told = (
        f"{verdict.answered:,} answers: {dict(sorted(verdict.statuses.items()))}, {verdict.streams} streams",
        f"memory of the API: {verdict.memory[0]:.1f} MB after a tenth, {verdict.memory[1]:.1f} MB at the end",
        *verdict.wrong,
    )
    good = not verdict.wrong and verdict.growth <= MOST_GROWTH
    print("\n".join([*told, "good" if good else "NOT good"]))  # noqa: T201
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
