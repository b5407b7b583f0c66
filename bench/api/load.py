"""Load generator over keep-alive connections: `wrk`, or a Python client where there is none."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from shutil import which
from typing import Any, Final, NamedTuple

from bench.api.deployment import Deployment
from bench.api.line import connected, request
from bench.engine.samples import percentile
from horae.clock import SystemClock
from horae.node.event_loop import run_fast

KINDS: Final = ("get", "list", "create")
BULK_SIZE: Final = 100
CLIENT: Final = "wrk" if which("wrk") else "a client in Python, which takes as much of the machine as the server"
_SCRIPT: Final = Path(__file__).with_name("asking.lua")
_CLOCK: Final = SystemClock()
_LIST: Final = "/v1/tasks?limit=50"


class Load(NamedTuple):
    """Of one turn; `p50` and `p99` in seconds. `refused` and `broken` should be nought."""

    requests: int
    seconds: float
    p50: float
    p99: float
    refused: int
    broken: int

    @property
    def rate(self) -> float:
        return (self.requests - self.refused) / self.seconds


def prepare(deployment: Deployment, member: str, known: int) -> None:
    """Tasks to request, and files with their ids and the token for the load generator."""
    tasks = [
        {"name": f"known {number}", "when": f"{number % 60} 9 * * *", "zone": "UTC", "say": "hello"}
        for number in range(known)
    ]
    made = deployment.ask("POST", "/v1/tasks/bulk", {"tasks": tasks}, member)
    _kept(deployment.folder / "ids", "\n".join(each["id"] for each in made["items"]))
    _kept(deployment.folder / "member", member)


def press(deployment: Deployment, kind: str, connections: int, seconds: int, number: int) -> Load:
    if CLIENT != "wrk":
        return run_fast(_press(deployment, kind, connections, seconds, number))
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "10s",
        "-s",
        str(_SCRIPT),
        deployment.base,
    ]
    asked = subprocess.run(
        [*command, "--", kind, str(deployment.folder), str(number)], capture_output=True, text=True, check=True
    )
    return Load(**json.loads(asked.stdout.splitlines()[-1]))


async def _press(deployment: Deployment, kind: str, connections: int, seconds: int, number: int) -> Load:
    began = _CLOCK.steady()
    requests = make_requests(deployment, kind, number)
    took: list[float] = []
    refused = 0

    async def ask() -> None:
        nonlocal refused
        line = await connected(deployment.base)
        while (at := _CLOCK.steady()) < began + seconds:
            refused += (await line.ask(next(requests))).status >= 400
            took.append(_CLOCK.steady() - at)
        line.close()

    await asyncio.gather(*(ask() for _ in range(connections)))
    return Load(len(took), _CLOCK.steady() - began, percentile(took, 0.5), percentile(took, 0.99), refused, 0)


def make_requests(deployment: Deployment, kind: str, number: int) -> Iterator[bytes]:
    """The same as those of the script, and `bulk`: `BULK_SIZE` tasks in one request."""
    ids = (deployment.folder / "ids").read_text(encoding="ascii").split()
    head = deployment.head((deployment.folder / "member").read_text(encoding="ascii").strip())
    chance = random.Random(number)
    for sent in count(1):
        if kind == "create":
            more = {} if sent % 2 else {"Idempotency-Key": f"bench-{number}-{sent}"}
            yield request("POST", "/v1/tasks", head | more, json.dumps(_task(number, sent)).encode())
        elif kind == "bulk":
            tasks = [_task(number, sent * BULK_SIZE + each) for each in range(BULK_SIZE)]
            yield request("POST", "/v1/tasks/bulk", head, json.dumps({"tasks": tasks}).encode())
        else:
            yield request("GET", f"/v1/tasks/{chance.choice(ids)}" if kind == "get" else _LIST, head)


def _task(number: int, sent: int) -> dict[str, Any]:
    return {
        "name": f"report {number}-{sent}",
        "when": f"{sent % 60} {sent % 24} * * 1-5",
        "zone": "Europe/Berlin",
        "http": f"https://hooks.example.org/{sent}",
        "payload": {"number": sent},
    }


def _kept(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text + "\n", encoding="ascii")
