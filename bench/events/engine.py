"""An engine in its own process with tasks due every second, and the lateness of their runs."""

from __future__ import annotations

from typing import Any

from horae import Horae
from horae.clock import SystemClock
from horae.node.event_loop import run_fast


def fire(url: str, tasks: int, seconds: float) -> list[float]:
    return run_fast(_fire(url, tasks, seconds))


async def _fire(url: str, tasks: int, seconds: float) -> list[float]:
    app = Horae(url, zone="UTC")

    @app.task
    async def nothing() -> None: ...

    async with app:
        handles = [await app.schedule(nothing, "every 1s", key=f"bench-{number}") for number in range(tasks)]
        await SystemClock().pause(seconds)
        return [late async for late in _lateness(app, [handle.id for handle in handles])]


async def _lateness(app: Horae, ids: list[str]) -> Any:
    from horae.ports.store import RunFilter  # noqa: PLC0415 - only the child needs it

    for task_id in ids:
        page = await app.store.runs(RunFilter(task_id=task_id), None, 1_000)
        for run in page.items:
            if run.lateness is not None:
                yield run.lateness.total_seconds()
