"""`make soak-api`: a million requests by chance to a real server; it answers all of them, and its memory stays flat.

`SOAK_API_REQUESTS` (1,000,000) and `SOAK_API_SEED` (by chance) say how; the seed is printed. What a server remembers on
purpose (tasks, their texts, schedules: up to 4,096 of each) is shown to it before, so that what grows afterwards is a leak.
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
from horae.node.event_loop import run_fast
from tests.api.soak_requests import OWNERS, Asked, Fuzz, mark

CONNECTIONS: Final = 16
_MOST_TOLD: Final = 10
WARM: Final = 0.2
"""From when so much of it is done, memory must not grow."""
MOST_GROWTH: Final = 0.10
"""Of a million requests that is a dozen bytes of each; the allocator alone keeps some megabytes that nobody uses."""
_WEIGHED: Final = 20
"""So often it is weighed, from the first request to the last."""
_PATIENCE: Final = 60.0
_TASKS_EACH: Final = 100
_REMEMBERED: Final = 5_000
_AT_ONCE: Final = 1_000
_PAGE: Final = 200
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
    memory: dict[int, float] = field(default_factory=dict)
    """Megabytes, by the number of requests that were begun then."""
    warm: int = 0

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    @property
    def growth(self) -> float:
        """From when it was warm to the end, as a share: the highest since counts, since what was given back may come again."""
        early = self.memory[self.warm]
        return max(weight for at, weight in self.memory.items() if at >= self.warm) / early - 1

    @property
    def course(self) -> str:
        return ", ".join(f"{at:,}: {weight:.1f}" for at, weight in self.memory.items())

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
        self._weighing = max(requests // _WEIGHED, 1)
        self._warm = max(round(requests * warm / self._weighing), 1) * self._weighing
        self._fuzz = Fuzz(seed, tokens, deployment.ask("GET", "/openapi.json"))
        self._drawn = 0
        self.verdict = Verdict(seed, warm=self._warm)

    async def run(self) -> Verdict:
        process = self._there.api_process
        self._weigh()
        await asyncio.gather(*(self._ask_on() for _ in range(CONNECTIONS)))
        self._weigh()
        assert self._there.api_process == process, "the server was begun again"
        return self.verdict

    async def _ask_on(self) -> None:
        line = await connected(self._there.base)
        while self._drawn < self._requests:
            self._drawn += 1
            if self._drawn % self._weighing == 0:
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
        self.verdict.memory[self._drawn] = self._there.api_memory


def fill(deployment: Deployment) -> None:
    """Show it more tasks than it remembers, each with a schedule of its own; a third owner's, whom nobody asks for."""
    for first in range(0, _REMEMBERED, _AT_ONCE):
        many = [
            {
                "name": f"remembered {number}",
                "owner": "crowd",
                "when": f"every {number + 1_000}h",
                "zone": "UTC",
                "say": "x",
            }
            for number in range(first, first + _AT_ONCE)
        ]
        deployment.ask("POST", "/v1/tasks/bulk", {"tasks": many})
    cursor: str | None = ""
    while cursor is not None:
        page = deployment.ask("GET", f"/v1/tasks?limit={_PAGE}" + (f"&cursor={cursor}" if cursor else ""))
        cursor = page["next_cursor"]


def soak(folder: Path, requests: int, seed: int, warm: float = WARM) -> Verdict:
    with deployed(folder) as deployment:
        fill(deployment)
        tokens = {name: deployment.member(name, active_tasks=_TASKS_EACH) for name in OWNERS}
        return run_fast(Soak(deployment, tokens, requests, seed, warm).run())


def _place(base: str) -> tuple[str, int]:
    host, _, port = base.removeprefix("http://").rpartition(":")
    return host, int(port)


def main() -> int:
    requests = int(os.environ.get("SOAK_API_REQUESTS", "1000000"))
    seed = int(os.environ.get("SOAK_API_SEED") or secrets.randbits(32))
    print(f"{requests:,} requests, SOAK_API_SEED={seed}", flush=True)  # noqa: T201 - whoever runs it reads this
    with TemporaryDirectory() as folder:
        verdict = soak(Path(folder), requests, seed)
    told = (
        f"{verdict.answered:,} answers: {dict(sorted(verdict.statuses.items()))}, {verdict.streams} streams",
        f"memory of the API in MB, by requests: {verdict.course}",
        f"growth from {verdict.warm:,} requests on: {verdict.growth:.1%} (at most {MOST_GROWTH:.0%})",
        *verdict.wrong,
    )
    good = not verdict.wrong and verdict.growth <= MOST_GROWTH
    print("\n".join([*told, "good" if good else "NOT good"]))  # noqa: T201
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
