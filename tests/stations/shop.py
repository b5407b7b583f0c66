"""An engine with stations over real sockets: one station `orders` of ada, and publishers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from horae import Horae
from horae.stations import Context, Failure, Publisher, Results, Station
from horae.stations.keys import SERVER_KEY_FILE, load_or_make_keys

from .ports import free_address


class Shop:
    """An engine with stations, one station `orders`, and a publisher."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.folder = folder
        self.listen = free_address()
        self.server_key = load_or_make_keys(folder / SERVER_KEY_FILE).public
        self.publish = free_address()
        settings = {"enabled": True, "listen": self.listen, "publish": self.publish, "directory": str(folder), **more}
        self.app = Horae(f"sqlite:///{folder}/horae.db", targets={"station": settings}, owner="ada")
        self.calls: asyncio.Queue[Context] = asyncio.Queue()
        self.station = Station(
            "orders", servers=self.listen, server_key=self.server_key, key_file=folder / "orders.key", worker="one"
        )
        self.station.api("pack")(self._pack)
        self.station.api("refuse")(_refuse)

    async def _pack(self, context: Context, order: int) -> int:
        self.calls.put_nowait(context)
        return order

    def publisher(self, name: str) -> Publisher:
        path = self.folder / f"{name}.key"
        return Publisher(name, server=self.listen, server_key=self.server_key, key_file=path)

    def results(self, owner: str, name: str) -> Results:
        """Subscribe to the results of an owner with the key of `name`."""
        path = self.folder / f"{name}.key"
        return Results(owner, server=self.publish, server_key=self.server_key, key_file=path)

    async def allow(self, name: str, kind: str, owner: str) -> None:
        key = load_or_make_keys(self.folder / f"{name}.key").public
        await self.app.service.stations.allow(self.app.who, name, key, kind=kind, owner=owner)


async def _refuse() -> None:
    raise Failure("out of stock")


@asynccontextmanager
async def open_shop(folder: Path, **settings: Any) -> AsyncIterator[Shop]:
    shop = Shop(folder, **settings)
    async with shop.app:
        await shop.allow("orders", "api", "ada")
        await shop.allow("press", "publisher", "ada")
        stop = asyncio.Event()
        running = asyncio.create_task(shop.station.run(stop))
        try:
            async with asyncio.timeout(30):
                await shop.station.until_joined()
            yield shop
        finally:
            stop.set()
            await running
