"""A day of one task in virtual time: what the ledger says of it, in short."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from horae import Context, Horae, TaskHandle
from horae.model.run import Run
from horae.testing import TimeTravel

NOON = "2026-03-01 12:00"


def told(run: Run) -> str:
    """`13:00 succeeded`, `14:00 skipped overlap`, `15:00 skipped merged 3`: planned, state, reason, how many."""
    return " ".join(
        str(part)
        for part in (f"{run.planned:%H:%M}", run.state, run.reason, None if run.span is None else run.span.count)
        if part is not None
    )


def ledger(time: TimeTravel, task: Any = None) -> list[str]:
    return [told(run) for run in time.runs(task)]


@contextmanager
def hourly(minutes: float = 0, start: str = NOON, **policies: Any) -> Iterator[tuple[TimeTravel, TaskHandle]]:
    """A task for every full hour, each run of which takes so many minutes. It returns how many it stands for."""
    app = Horae("memory://", zone="UTC")

    @app.task("0 * * * *", name="hourly", **{"timeout": "1d", **policies})
    async def work(ctx: Context) -> int:
        await asyncio.sleep(60 * minutes)  # noqa: TID251 - virtual time passes where a function sleeps
        return ctx.count

    with TimeTravel(app, start, zone="UTC") as time:
        yield time, time.run(app.get("hourly"))
