"""One owner with very many due tasks: lateness of another owner's tasks, and latency of the API meanwhile."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.api.deployment import Deployment, deployed, tick
from bench.api.line import connected, request
from bench.api.scale import Sizes
from bench.engine.samples import Samples, percentile_row
from bench.results import Bar, Row, Section, counted
from horae.clock import SystemClock
from horae.node.event_loop import run_fast

_AT_ONCE: Final = 1_000
_CLOCK: Final = SystemClock()
_OTHERS: Final = Bar("at most", 1_000)
_OTHERS_THEN: Final = Bar("at most", 5_000)
_PROBES: Final = Bar("at most", 500)
_AFTERWARDS: Final = 0.5
"""Seconds for which everything is watched when all of them are over."""
_FEW: Final = 10
"""Another owner's tasks a second: enough to see it, and not what holds it up."""


def crowd(sizes: Sizes) -> list[Section]:
    lead = timedelta(seconds=sizes.lead)
    with TemporaryDirectory() as folder, deployed(Path(folder)) as deployment:
        tick(deployment, _FEW)
        made = run_fast(_Stage(deployment, deployment.member("first"), sizes.probes).play(sizes.crowd, None))
        due = run_fast(_Stage(deployment, deployment.member("second"), sizes.probes).play(sizes.at_once, lead))
    note = f"Another owner sends requests meanwhile, at most {sizes.probes} times a second on one connection."
    return [
        Section(f"API: one owner makes {sizes.crowd:,} due tasks", _rows(sizes.crowd, made, _OTHERS), (note,)),
        Section(f"API: {sizes.at_once:,} due at one instant", _rows(sizes.at_once, due, _OTHERS_THEN), (note,)),
    ]


def _rows(tasks: int, told: dict[str, Any], others: Bar) -> tuple[Row, ...]:
    return (
        counted("made in", told["made"], "s"),
        counted("all of them over after", told["over"], "s"),
        counted("started, from the first due to the last over", tasks / max(told["worked"], 1e-3), "/s"),
        percentile_row("another owner's on-time tasks meanwhile, lateness p99", Samples.of([told["late"]]), 0.99),
        percentile_row("another owner's on-time tasks meanwhile, worst", Samples.of([told["late"]]), 1.0, others),
        *(row for name, took in told["asked"].items() for row in _asked(name, took)),
        counted("requests that failed", told["failed"], bar=Bar("at most", 0)),
    )


def _asked(name: str, took: list[float]) -> tuple[Row, Row]:
    samples, what = Samples.of([took]), f"the API meanwhile, {name} ({len(took):,})"
    return percentile_row(f"{what}, p50", samples, 0.5), percentile_row(f"{what}, p99", samples, 0.99, _PROBES)


class _Stage:
    def __init__(self, deployment: Deployment, crowd: str, probes: int) -> None:
        self._there = deployment
        self._crowd = crowd
        self._every = 1 / probes
        self._is_over = asyncio.Event()

    async def play(self, tasks: int, lead: timedelta | None) -> dict[str, Any]:
        began = _CLOCK.now()
        # Without a lead they are due when they come; with one, all of them at the same instant.
        due = began if lead is None else began + lead
        probing = asyncio.ensure_future(self._probe(None if lead is None else due))
        await self._make(tasks, due)
        made = _CLOCK.now()
        await self._until_over(tasks)
        over = _CLOCK.now()
        await _CLOCK.pause(_AFTERWARDS)
        ended = _CLOCK.now()
        self._is_over.set()
        asked, failed = await probing
        return {
            "made": (made - began).total_seconds(),
            "over": (over - began).total_seconds(),
            "worked": (over - due).total_seconds(),
            "late": self._there.lateness(due, ended),
            "asked": asked,
            "failed": failed,
        }

    async def _make(self, tasks: int, due: datetime) -> None:
        line = await connected(self._there.base)
        for first in range(0, tasks, _AT_ONCE):
            when = {"kind": "once", "at": max(due, _CLOCK.now() + timedelta(milliseconds=10)).isoformat()}
            some = [
                {"name": f"due {number}", "function": "nothing", "when": when}
                for number in range(first, min(first + _AT_ONCE, tasks))
            ]
            body = json.dumps({"tasks": some}).encode()
            reply = await line.ask(request("POST", "/v1/tasks/bulk", self._there.head(self._crowd), body))
            assert reply.status == 201, reply
        line.close()

    async def _until_over(self, tasks: int) -> None:
        line = await connected(self._there.base)
        asked = request("GET", "/v1/overview", self._there.head(self._crowd))
        while json.loads((await line.ask(asked)).body)["tasks"]["completed"] < tasks:
            await _CLOCK.pause(0.25)
        line.close()

    async def _probe(self, since: datetime | None) -> tuple[dict[str, list[float]], int]:
        """How long each took, and how many failed. What is before `since` does not count."""
        line, failed = await connected(self._there.base), 0
        requests = self._requests()
        took: dict[str, list[float]] = {name: [] for name in requests}
        for name, asked in cycle(requests.items()):
            if self._is_over.is_set() and all(took.values()):
                break
            at = _CLOCK.steady()
            reply = await line.ask(asked)
            seconds = _CLOCK.steady() - at
            if since is None or _CLOCK.now() >= since:
                took[name].append(seconds)
                failed += not 200 <= reply.status < 300
            await _CLOCK.pause(max(self._every - seconds, 0))
        line.close()
        return took, failed

    def _requests(self) -> dict[str, bytes]:
        head = self._there.head()
        task = {"name": "probe", "when": "every day at 9am", "zone": "UTC", "say": "hello"}
        return {
            "overview": request("GET", "/v1/overview", head),
            "list of 50": request("GET", "/v1/tasks?limit=50", head),
            "create": request("POST", "/v1/tasks", head, json.dumps(task).encode()),
        }
