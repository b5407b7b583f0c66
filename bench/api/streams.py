"""Event stream readers of a real deployment: delivery latency, and lateness of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.api.deployment import Deployment, deployed, tick
from bench.api.scale import Sizes
from bench.engine.samples import percentile
from bench.events.readers import listening
from bench.results import Bar, Row, Section, counted
from horae.clock import SystemClock
from horae.node.event_loop import run_fast

_HEARD: Final = Bar("at most", 200)
_FEW: Final = 2
"""Tasks per second where every reader gets all events: three events per task and reader."""
_CLOCK: Final = SystemClock()
_SHARES: Final = {"p50": 0.5, "p99": 0.99, "worst": 1.0}


def streams(sizes: Sizes) -> list[Section]:
    """All events for every reader; or, as with pages of single tasks, the events of one task per reader."""
    few = min(_FEW, sizes.ticking)
    with TemporaryDirectory() as folder, deployed(Path(folder)) as deployment:
        tick(deployment, few)
        everything = _section(deployment, sizes, few, "", "all events")
        tick(deployment, sizes.ticking - few)
        return [everything, _section(deployment, sizes, sizes.ticking, "?task={}", "one task each")]


def _section(deployment: Deployment, sizes: Sizes, tasks: int, asked: str, what: str) -> Section:
    alone, _, _ = run_fast(_listen(deployment, 1, [""], sizes.listening))
    ids = [each["id"] for each in deployment.ask("GET", f"/v1/tasks?limit={min(tasks, 200)}")["items"]]
    queries = [asked.format(each) for each in ids]
    late, heard, spent = run_fast(_listen(deployment, sizes.readers, queries, sizes.listening))
    rows = (
        *_rows("event arrives after", heard, _HEARD),
        *_rows("lateness, one reader", alone, None),
        *_rows(f"lateness, {sizes.readers:,} readers", late, None),
        counted("processor time of the API, of one processor", spent / sizes.listening * 100, "%"),
        counted("processor time for each that was heard", spent / max(len(heard), 1) * 1e6, "µs"),
    )
    note = f"{tasks} tasks a second for {sizes.listening:g} s; {len(heard):,} events were heard; the readers in one process."
    return Section(f"API: {sizes.readers:,} readers of events, {what}", rows, (note,))


async def _listen(
    deployment: Deployment, readers: int, queries: Sequence[str], seconds: float
) -> tuple[list[float], list[float], float]:
    """How late the engine was, how long after it happened everything was heard, and processor time that the API took."""
    async with listening(deployment.base, deployment.token, readers, queries) as heard:
        began, before = _CLOCK.now(), deployment.api_seconds
        heard.clear()
        await _CLOCK.pause(seconds)
        ended, found, spent = _CLOCK.now(), list(heard), deployment.api_seconds - before
    return deployment.lateness(began, ended - timedelta(seconds=0.5)), found, spent


def _rows(what: str, seconds: Sequence[float], bar: Bar | None) -> list[Row]:
    return [
        counted(f"{what}, {name}", percentile(seconds, share) * 1e3, "ms", bar if name == "p99" else None)
        for name, share in _SHARES.items()
    ]
