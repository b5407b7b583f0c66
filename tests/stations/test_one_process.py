"""Functions, stations and agents in one process, on one store."""

from __future__ import annotations

import asyncio
from pathlib import Path

from horae import Horae
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from horae.model.run import RunState
from horae.stations import Station
from horae.stations.keys import SERVER_KEY_FILE, load_or_make_keys
from tests.agents.host.up_process import chat_node

from .ports import free_address
from .shop import Shop

PATIENCE = 90.0
GARDEN = """
from horae import Horae

app = Horae()


@app.task("now")
def water() -> str:
    return "wet"
"""


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


async def test_one_node_holds_functions_stations_and_agents(tmp_path: Path) -> None:
    """`horae up garden:app --agents --stations`: a function, a call of a station and a turn of an agent end in its worker."""
    address = free_address()
    (tmp_path / "garden.py").write_text(GARDEN)
    async with chat_node(tmp_path) as node:
        settings = node.folder / "horae.toml"
        server_key = load_or_make_keys(tmp_path / "stations" / SERVER_KEY_FILE).public
        key_file = tmp_path / "shed.key"
        settings.write_text(
            settings.read_text() + f'\n[targets.station]\nlisten = "{address}"\npublish = "{free_address()}"\n'
        )
        async with Horae(node.store, engine=False) as app:
            await app.service.stations.allow(app.who, "shed", load_or_make_keys(key_file).public)
            await app.service.groups.add(LOCAL, "family", "web:family")
        station = Station("shed", servers=address, server_key=server_key, key_file=key_file, worker="one")

        @station.api("dig")
        def dig(depth: int) -> int:
            return depth + 1

        stop = asyncio.Event()
        async with node.up("garden:app", "--stations"), Horae(node.store, engine=False) as app:
            running = asyncio.create_task(station.run(stop))
            try:
                async with asyncio.timeout(PATIENCE):
                    await station.until_joined()
                    call = await app.schedule(
                        {"kind": "station", "station": "shed", "command": "dig"}, "now", {"depth": 1}
                    )
                    await app.service.chats.send(LOCAL, "web:family", "@Andy hello", message_id="m-1")
                    called = await app.wait_for(call.id)
                    while not (watered := [run async for run in app.runs(limit=None) if run.result_json == '"wet"']):
                        await SystemClock().pause(0.05)
                    while len((await app.service.chats.transcript(LOCAL, "web:family")).messages) < 2:
                        await SystemClock().pause(0.05)
            finally:
                stop.set()
                await running
        assert (called.state, called.result_json) == (RunState.SUCCEEDED, "2")
        assert [run.node for run in watered] == [called.node]
