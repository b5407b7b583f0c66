"""Functions, the hub of stations, a station and a publisher in one process, on one store."""

from __future__ import annotations

import asyncio
from pathlib import Path

from horae.model.run import RunState

from .shop import Shop


async def test_one_process_holds_functions_and_stations(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    @shop.app.task
    def count(number: int) -> int:
        return number + 1

    async with shop.app:
        await shop.allow("orders", "api", "ada")
        await shop.allow("press", "publisher", "ada")
        stop = asyncio.Event()
        running = asyncio.create_task(shop.station.run(stop))
        async with asyncio.timeout(60):
            await shop.station.until_joined()
            function = await shop.app.schedule(count, "now", {"number": 1})
            target = {"kind": "station", "station": "orders", "command": "pack"}
            call = await shop.app.schedule(target, "now", {"order": 2})
            async with shop.publisher("press") as press:
                await press.publish("orders", "pack", {"order": 3}, plan_type="time", plan_repet=1)
            ended = [await shop.app.wait_for(each.id) for each in (function, call)]
            orders = {(await shop.calls.get()).payload["order"] for _ in range(2)}
        stop.set()
        await running
    assert [(run.state, run.result_json) for run in ended] == [(RunState.SUCCEEDED, "2"), (RunState.SUCCEEDED, "2")]
    assert orders == {2, 3}
