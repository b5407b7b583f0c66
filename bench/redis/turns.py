"""Horae's timed tasks and a bare script, in blocks that take turns in one process on one server."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Final

from redis.asyncio import Redis

from bench.engine import work
from bench.engine.steady_rate import timed_block
from bench.postgres.loop import run
from bench.postgres.scale import Sizes
from horae import Horae

_SCRIPT: Final = "return redis.call('XADD', KEYS[1], '*', 'text', ARGV[1])"


def take_turns(url: str, bare: str, rate: float, sizes: dict[str, Any]) -> dict[str, list[list[float]]]:
    return run(_take_turns(url, bare, rate, Sizes(**sizes)))


async def _take_turns(url: str, bare: str, rate: float, sizes: Sizes) -> dict[str, list[list[float]]]:
    seen: dict[str, list[list[float]]] = {"bare": [], "paced": [], "ours": []}
    client: Any = Redis.from_url(bare)
    digest = await client.script_load(_SCRIPT)
    async with Horae(url) as app:
        for _ in range(sizes.blocks):
            seen["bare"].append(await _block(client, digest, sizes.commits))
            seen["paced"].append(await _block(client, digest, max(sizes.commits // 10, 1), 1 / rate))
            seen["ours"].append(await timed_block(app, rate, sizes.block_seconds, sizes.lead))
    await client.aclose()
    return seen


async def _block(client: Any, digest: str, count: int, pause: float = 0.0) -> list[float]:
    """Return the seconds of each call: one right after the other, or with a pause before each, as tasks come."""
    seen = []
    for _ in range(count):
        if pause:
            await work.pass_time(pause)
        started = perf_counter()
        await client.evalsha(digest, 1, "bare", "one row")
        seen.append(perf_counter() - started)
    return seen
