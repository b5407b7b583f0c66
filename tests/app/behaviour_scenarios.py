"""Runs of one hourly task in virtual time, rendered as short lines, for the tests of the documented behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from horae import Context, Horae, TaskHandle
from horae.model.run import Run
from horae.testing import TimeTravel

NOON = "2026-03-01 12:00"


async def do_nothing() -> None: ...


def render_run(run: Run) -> str:
    """Render a run as planned time, state, reason and count: `13:00 succeeded`, `15:00 skipped merged 3`."""
    return " ".join(
        str(part)
        for part in (f"{run.planned:%H:%M}", run.state, run.reason, None if run.span is None else run.span.count)
        if part is not None
    )


def render_ledger(time: TimeTravel, task: Any = None) -> list[str]:
    return [render_run(run) for run in time.runs(task)]


@contextmanager
def hourly_task(minutes: float = 0, start: str = NOON, **policies: Any) -> Iterator[tuple[TimeTravel, TaskHandle]]:
    """Run a task every full hour in virtual time; each run takes this many minutes and returns its `count`."""
    app = Horae("memory://", zone="UTC")

    @app.task("0 * * * *", name="hourly", **{"timeout": "1d", **policies})
    async def work(ctx: Context) -> int:
        await asyncio.sleep(60 * minutes)  # noqa: TID251 - virtual time passes where a function sleeps
        return ctx.count

    with TimeTravel(app, start, zone="UTC") as time:
        yield time, time.run(app.get("hourly"))
