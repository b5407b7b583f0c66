"""Append and read from a cursor in a store with many messages: `python -m bench.messages [STORE] [MESSAGES]`.

STORE is `sqlite` (default), `postgres`, `mariadb` (a server is started) or the URL of an empty store. A commit of one row
in the same disk is measured beside it, in turn: what it takes at its slowest, no store can do faster.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from horae.model.messages import NewMessage, StreamQuota
from horae.ports.full_store import FullStore
from horae.runtime.stores import make_store
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer

_BATCH: Final = 1_000
_STREAMS: Final = 100
_TRIES: Final = 500
_QUOTA: Final = StreamQuota(1_000, 1024 * 1024 * 1024)
"""That of a member: its check is part of an append."""
_NOW: Final = datetime(2026, 11, 18, tzinfo=UTC)
_SERVERS: Final = {"postgres": PostgresServer, "mariadb": MariaDBServer}


def _message(stream: int, place: int) -> NewMessage:
    return NewMessage(f"chat:{stream}", "x" * 200, "Ada", "web", str(place), _NOW)


def _streams(count: int) -> int:
    """Return the number of streams: fewer where not each of them would have a batch."""
    return max(1, min(_STREAMS, count // _BATCH))


async def _fill(store: FullStore, count: int) -> None:
    for begin in range(0, count, _BATCH):
        stream = begin // _BATCH % _streams(count)
        await store.append_messages("ada", [_message(stream, begin + place) for place in range(_BATCH)], _QUOTA)
    for stream in range(_streams(count)):
        state = await store.stream("ada", f"chat:{stream}")
        if state is not None:
            after = state.stream.last - 10
            await store.register_reader("ada", f"chat:{stream}", "handled", after, _NOW)


class _DiskSync:
    """Appends a page to a file and waits for the disk, as the log of every durable store does."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def measure(self) -> float:
        begun = perf_counter()
        os.write(self._file, b"x" * 4_096)
        os.fdatasync(self._file)
        return perf_counter() - begun

    def close(self) -> None:
        os.close(self._file)


async def _measure(store: FullStore, count: int, folder: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"append": [], "read": [], "disk sync": []}
    disk = _DiskSync(folder)
    for place in range(_TRIES):
        stream = place % _streams(count)
        found["disk sync"].append(disk.measure())
        begun = perf_counter()
        await store.append_messages("ada", [_message(stream, count + place)], _QUOTA)
        appended = perf_counter()
        await store.read_messages("ada", f"chat:{stream}", limit=50, reader="handled")
        found["append"].append(appended - begun)
        found["read"].append(perf_counter() - appended)
    disk.close()
    return found


async def _run(url: str, count: int, folder: Path) -> None:
    store = make_store(url)
    await store.open()
    try:
        await _fill(store, count)
        for name, seconds in (await _measure(store, count, folder)).items():
            milliseconds = [1_000 * each for each in seconds]
            print(f"{name}: median {median(milliseconds):.3f} ms, p99 {quantiles(milliseconds, n=100)[98]:.3f} ms")
    finally:
        await store.close()


@contextmanager
def _store_url(name: str, folder: Path) -> Iterator[str]:
    if name == "sqlite":
        yield f"sqlite:///{folder / 'messages.db'}"
    elif name in _SERVERS:
        with _SERVERS[name]() as server:
            yield server.new_database()
    else:
        yield name


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.messages", description=__doc__)
    parser.add_argument("store", nargs="?", default="sqlite")
    parser.add_argument("messages", nargs="?", type=int, default=1_000_000, help="at least 1,000")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory() as text:
        folder = Path(text)
        with _store_url(chosen.store, folder) as url:
            asyncio.run(_run(url, chosen.messages, folder))


if __name__ == "__main__":
    main()
