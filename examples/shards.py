"""Several databases, each with its own deployment: an owner's name says which one is its home.

Prints:

south reminded ada
south reminded bob
east reminded 李雷
with a fourth database, 2504 of 10000 owners live there, and 0 have moved anywhere else
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Collection
from contextlib import AsyncExitStack
from hashlib import blake2b
from pathlib import Path

from horae import Horae

folder = Path(tempfile.mkdtemp())
# In real life postgresql://north.example.com/horae and so on. The name decides, not the address: that may change.
SHARDS = {name: f"sqlite:///{folder}/{name}.db" for name in ("north", "south", "east")}


def home_of(owner: str, shards: Collection[str]) -> str:
    """Stable on every machine. A new database takes its share from all others, and no other key moves."""
    return max(shards, key=lambda shard: blake2b(f"{shard}\0{owner}".encode(), digest_size=8).digest())


def deployment(name: str, address: str) -> Horae:
    """The same code on each; its nodes are `horae worker` with that address, on as many machines as it needs."""
    app = Horae(address, zone="UTC")

    @app.task(name="remind")
    async def remind(who: str) -> str:
        return f"{name} reminded {who}"

    return app


async def main() -> None:
    apps = {name: deployment(name, address) for name, address in SHARDS.items()}
    async with AsyncExitStack() as stack:
        for app in apps.values():
            await stack.enter_async_context(app)
        for who in ("ada", "bob", "李雷"):
            owner = f"user:{who}"
            task = await apps[home_of(owner, SHARDS)].schedule("remind", "now", {"who": who}, owner=owner)
            print((await task.wait("30s")).result)
    grown = [*SHARDS, "west"]
    homes = [(home_of(owner, SHARDS), home_of(owner, grown)) for owner in (f"user:{n}" for n in range(10_000))]
    there = sum(after == "west" for _, after in homes)
    elsewhere = sum(after not in (before, "west") for before, after in homes)
    print(
        f"with a fourth database, {there} of {len(homes)} owners live there, and {elsewhere} have moved anywhere else"
    )


if __name__ == "__main__":
    asyncio.run(main())
