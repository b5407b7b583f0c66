"""Append and read from a cursor in a store with many messages: `python -m bench.messages [URL] [MESSAGES]`."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from horae.model.messages import NewMessage, StreamQuota
from horae.ports.full_store import FullStore
from horae.runtime.stores import make_store

_BATCH: Final = 1_000
_STREAMS: Final = 100
_TRIES: Final = 500
_QUOTA: Final = StreamQuota(10_000, 2**50)
_NOW: Final = datetime(2026, 11, 18, tzinfo=UTC)


def _message(stream: int, place: int) -> NewMessage:
    return NewMessage(f"chat:{stream}", "x" * 200, "Ada", "web", str(place), _NOW)


async def _fill(store: FullStore, count: int) -> None:
    for begin in range(0, count, _BATCH):
        stream = begin // _BATCH % _STREAMS
        await store.append_messages("ada", [_message(stream, begin + place) for place in range(_BATCH)], _QUOTA)
    for stream in range(_STREAMS):
        state = await store.stream("ada", f"chat:{stream}")
        if state is not None:
            after = state.stream.last - 10
            await store.register_reader("ada", f"chat:{stream}", "handled", after, _NOW)


async def _measure(store: FullStore, count: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"append": [], "read": []}
    for place in range(_TRIES):
        stream = place % _STREAMS
        begun = perf_counter()
        await store.append_messages("ada", [_message(stream, count + place)], _QUOTA)
        appended = perf_counter()
        await store.read_messages("ada", f"chat:{stream}", limit=50, reader="handled")
        found["append"].append(appended - begun)
        found["read"].append(perf_counter() - appended)
    return found


async def _run(url: str, count: int) -> None:
    store = make_store(url)
    await store.open()
    try:
        await _fill(store, count)
        for name, seconds in (await _measure(store, count)).items():
            milliseconds = [1_000 * each for each in seconds]
            print(f"{name}: median {median(milliseconds):.3f} ms, p99 {quantiles(milliseconds, n=100)[98]:.3f} ms")
    finally:
        await store.close()


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else ""
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with TemporaryDirectory() as folder:
        asyncio.run(_run(url or f"sqlite:///{Path(folder, 'messages.db')}", count))


if __name__ == "__main__":
    main()
