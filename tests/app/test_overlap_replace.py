"""Overlap `replace`: a newer occurrence ends the older run at once, not at the next lease renewal."""

from __future__ import annotations

import asyncio

from horae.virtual_time import VirtualClock
from tests.app.virtual_app import an_app


async def test_replaced_run_ends_when_the_next_occurrence_comes_due(clock: VirtualClock) -> None:
    app = an_app(clock)
    lengths: list[float] = []
    enough = asyncio.Event()

    @app.task("every 300ms", overlap="replace")
    async def endless() -> None:
        began = clock.steady()
        try:
            await asyncio.Event().wait()
        finally:
            lengths.append(round(clock.steady() - began, 3))
            if len(lengths) == 3:
                enough.set()

    async with app:
        await enough.wait()
    assert lengths[:3] == [0.3, 0.3, 0.3]
