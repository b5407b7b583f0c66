"""`make soak-api`: sends a million random requests to a real server and checks every answer and that its memory stays flat.

`SOAK_API_REQUESTS` (1,000,000) and `SOAK_API_SEED` (random) configure it; the seed is printed. The server's caches (tasks,
their texts, schedules: up to 4,096 of each) are filled first, so that growth afterwards is a leak.
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
from bench.api.line import Line, Reply, connected, request
from horae.node.event_loop import run_fast
from tests.api.soak_requests import DEEP_BODY, LARGE_BODY, OWNERS, Fuzz, FuzzedRequest, owner_mark

CONNECTIONS: Final = 16
_MAX_REPORTED: Final = 10
WARM: Final = 0.2
"""Share of the requests after which memory must not grow."""
MAX_GROWTH: Final = 0.10
"""A dozen bytes per request at a million requests; the allocator alone holds some megabytes of free memory."""
_MEMORY_SAMPLES: Final = 20
"""Number of memory samples, from the first request to the last."""
_TIMEOUT_SECONDS: Final = 60.0
_TASKS_EACH: Final = 100
_FILLED_TASKS: Final = 5_000
_BULK_SIZE: Final = 1_000
_PAGE: Final = 200
_BROKEN_REQUESTS: Final = (
    b"GET /v1/tasks HTTP/1.1\r\nHost: localhost\r\nX-A: ",
    b"\x00\x01\x02\r\n\r\n",
    b"GET /v1/tasks HTTP/9.9\r\n\r\n",
    b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
    b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET http://[ HTTP/1.1\r\n\r\n",
)
"""Broken requests, each sent on a new connection that is closed without reading the response."""
_BROKEN_EVERY: Final = 100
_STREAM_EVERY: Final = 250


@dataclass
class Verdict:
    seed: int
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """The first few requests with a 5xx, without a response, or with data of the other owner in it."""
    streams: int = 0
    memory: dict[int, float] = field(default_factory=dict)
    """Megabytes by the number of requests sent so far."""
    warm: int = 0

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    @property
    def growth(self) -> float:
        """Growth since the warm-up as a share; the peak counts, because freed memory may be needed again."""
        early = self.memory[self.warm]
        return max(weight for at, weight in self.memory.items() if at >= self.warm) / early - 1

    @property
    def course(self) -> str:
        return ", ".join(f"{at:,}: {weight:.1f}" for at, weight in self.memory.items())

    def judge(self, sent: FuzzedRequest, reply: Reply) -> None:
        self.statuses[reply.status] += 1
        other = OWNERS[OWNERS[0] == sent.who]
        leaked = sent.who is not None and owner_mark(other).encode() in reply.body
        if (reply.status >= 500 or reply.status == 0 or leaked) and len(self.wrong) < _MAX_REPORTED:
            what = "leak" if leaked else str(reply.status)
            self.wrong.append(f"{what}: {sent.method} {sent.path[:200]} {sent.body[:300]!r} -> {reply.body[:300]!r}")


class Soak:
    def __init__(
        self, deployment: Deployment, tokens: dict[str, str], requests: int, seed: int, warm: float = WARM
    ) -> None:
        self._deployment = deployment
        self._tokens = tokens
        self._requests = requests
        self._sample_every = max(requests // _MEMORY_SAMPLES, 1)
        self._warm = max(round(requests * warm / self._sample_every), 1) * self._sample_every
        self._fuzz = Fuzz(seed, tokens, deployment.ask("GET", "/openapi.json"))
        self._sent = 0
        self.verdict = Verdict(seed, warm=self._warm)

    async def run(self) -> Verdict:
        process = self._deployment.api_process
        self._sample_memory()
        await asyncio.gather(*(self._send_requests() for _ in range(CONNECTIONS)))
        self._sample_memory()
        assert self._deployment.api_process == process, "the server was restarted"
        return self.verdict

    async def _send_requests(self) -> None:
        line = await connected(self._deployment.base)
        while self._sent < self._requests:
            self._sent += 1
            if self._sent % self._sample_every == 0:
                self._sample_memory()
            if self._sent % _BROKEN_EVERY == 0:
                await self._send_broken(self._sent // _BROKEN_EVERY)
            if self._sent % _STREAM_EVERY == 0:
                await self._open_stream()
            line = line if line.is_open else await connected(self._deployment.base)
            await self._send_one(line)
        line.close()

    async def _send_one(self, line: Line) -> None:
        drawn = self._fuzz.draw()
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            reply = await line.ask(drawn.text)
        self.verdict.judge(drawn, reply)
        self._fuzz.learn(drawn, reply)

    async def _send_broken(self, number: int) -> None:
        line = await connected(self._deployment.base)
        line.send(_BROKEN_REQUESTS[number % len(_BROKEN_REQUESTS)])
        line.close()

    async def _open_stream(self) -> None:
        """Open an event stream, read its first frame, and abort the connection."""
        reader, writer = await asyncio.open_connection(*_address(self._deployment.base))
        head = f"Authorization: Bearer {self._tokens[OWNERS[0]]}\r\nAccept: text/event-stream"
        writer.write(f"GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            greeting = await reader.readuntil(b"retry:")
        self.verdict.streams += greeting.startswith(b"HTTP/1.1 200 ")
        writer.transport.abort()

    def _sample_memory(self) -> None:
        self.verdict.memory[self._sent] = self._deployment.api_memory


def fill(deployment: Deployment) -> None:
    """Fill the caches: list more tasks than they hold, each with its own schedule, of an owner that no request uses."""
    for first in range(0, _FILLED_TASKS, _BULK_SIZE):
        many = [
            {
                "name": f"remembered {number}",
                "owner": "crowd",
                "when": f"every {number + 1_000}h",
                "zone": "UTC",
                "say": "x",
            }
            for number in range(first, first + _BULK_SIZE)
        ]
        deployment.ask("POST", "/v1/tasks/bulk", {"tasks": many})
    cursor: str | None = ""
    while cursor is not None:
        page = deployment.ask("GET", f"/v1/tasks?limit={_PAGE}" + (f"&cursor={cursor}" if cursor else ""))
        cursor = page["next_cursor"]
    asyncio.run(_send_rare_requests(deployment))


async def _send_rare_requests(deployment: Deployment) -> None:
    """Send what is rare among the random requests and takes memory once: the library of the metrics, and large bodies."""
    for method, path, body in (
        ("GET", "/metrics", b""),
        ("POST", "/v1/tasks", LARGE_BODY),
        ("POST", "/v1/tasks", DEEP_BODY),
    ):
        line = await connected(deployment.base)
        reply = await line.ask(request(method, path, deployment.head(), body))
        line.close()
        assert (reply.status == 200) == (method == "GET"), reply
        assert reply.status < 500, reply


def soak(folder: Path, requests: int, seed: int, warm: float = WARM) -> Verdict:
    with deployed(folder) as deployment:
        fill(deployment)
        tokens = {name: deployment.member(name, active_tasks=_TASKS_EACH) for name in OWNERS}
        return run_fast(Soak(deployment, tokens, requests, seed, warm).run())


def _address(base: str) -> tuple[str, int]:
    host, _, port = base.removeprefix("http://").rpartition(":")
    return host, int(port)


def main() -> int:
    requests = int(os.environ.get("SOAK_API_REQUESTS", "1000000"))
    seed = int(os.environ.get("SOAK_API_SEED") or secrets.randbits(32))
    print(f"{requests:,} requests, SOAK_API_SEED={seed}", flush=True)  # noqa: T201 - the result of the command
    with TemporaryDirectory() as folder:
        verdict = soak(Path(folder), requests, seed)
    summary = (
        f"{verdict.answered:,} answers: {dict(sorted(verdict.statuses.items()))}, {verdict.streams} streams",
        f"memory of the API in MB, by requests: {verdict.course}",
        f"growth from {verdict.warm:,} requests on: {verdict.growth:.1%} (at most {MAX_GROWTH:.0%})",
        *verdict.wrong,
    )
    good = not verdict.wrong and verdict.growth <= MAX_GROWTH
    print("\n".join([*summary, "good" if good else "NOT good"]))  # noqa: T201
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
