"""Workloads for a series of rates: one-time tasks that are known beforehand, or recurring tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from bench.engine import horae_side, work
from bench.engine.stopwatch import Stopwatch
from bench.postgres.loop import run
from bench.scale.server import processor_seconds
from horae import Context, Horae
from horae.schedule import Every

_AT_ONCE: Final = 10_000
_BEFORE: Final = 2.0
"""Seconds: a node is there so long before the first task is due, and has made its connections."""
_WARM: Final = 16
_AFTER: Final = 2.0
"""Seconds: what is not begun by then is late by more than a node can make up for."""
ROUND: Final = timedelta(seconds=10)
"""How often a task comes again."""


async def on_its_grid(ctx: Context) -> None:
    work.watch.called_for(work.microseconds(ctx.due))


def add_once(url: str, first: float, rate: float, many: int) -> float:
    """So many, so many a second; seconds that were left when all of them were added."""
    return run(_add_once(url, _grid(first, rate, many)))


def add_again_and_again(url: str, first: float, rate: float, many: int) -> float:
    """The same, of tasks that each begin at such an instant and go on for ever."""
    return run(_add_again_and_again(url, _grid(first, rate, many)))


def carry(url: str, first: float, last: float, server: int) -> dict[str, Any]:
    """A node that is there when the first is due, and goes a little after the last.

    How late everything was that it has started; seconds of processors that it and the server used from the first one to the
    last.
    """
    return run(_carry(url, first, last, server))


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _grid(first: float, rate: float, many: int) -> list[datetime]:
    return [_at(first + number / rate) for number in range(many)]


async def _add_once(url: str, instants: Sequence[datetime]) -> float:
    await horae_side.add(url, work.async_timed, horae_side.to_watch(instants))
    return instants[0].timestamp() - work.now().timestamp()


async def _add_again_and_again(url: str, instants: Sequence[datetime]) -> float:
    async with Horae(url, engine=False) as app:
        task, left = app.task(on_its_grid), iter(instants)
        while some := [(task, Every(ROUND, start=start), None) for start in islice(left, _AT_ONCE)]:
            await app.schedule_many(some)
    return instants[0].timestamp() - work.now().timestamp()


async def _carry(url: str, first: float, last: float, server: int) -> dict[str, Any]:
    app = Horae(url)
    warm = app.task(work.async_noop)
    app.task(work.async_timed)
    app.task(on_its_grid)
    work.watch.expect(0, bool)
    await _until(first - _BEFORE)
    async with app:
        await app.schedule_many([(warm, "now", None)] * _WARM)
        await _until(first)
        stopwatch, used = Stopwatch(), processor_seconds(server)
        await _until(last)
        busy, served = stopwatch.read()["busy"], processor_seconds(server) - used
        begun = len(work.watch.starts)
        await work.pass_time(_AFTER)
        late = work.watch.lateness(_at(first), _at(last))
    return {"late": late, "begun": begun, "busy": busy, "served": served}


async def _until(instant: float) -> None:
    await work.pass_time(max(0.0, instant - work.now().timestamp()))
