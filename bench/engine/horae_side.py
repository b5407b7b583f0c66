"""Horae as its users run it: the public library with its defaults, on a file or a URL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from bench.engine import work
from bench.engine.stopwatch import Stopwatch
from horae import Horae
from horae.model.page import MAX_PAGE_SIZE
from horae.model.run import RunState
from horae.ports.store import RunFilter

_AT_ONCE: Final = 10_000

Work = Callable[..., Coroutine[Any, Any, None]]
Wanted = tuple[datetime, dict[str, Any]]


def address(place: Path | str) -> str:
    """Of a file; or the same that came, where that is an address already."""
    return place if isinstance(place, str) and "://" in place else f"sqlite:///{Path(place).absolute()}"


def drain(count: int) -> dict[str, float]:
    """So many tasks that are due already: how long until all have run and are in the ledger."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_drain(Path(folder) / "horae.db", count))


def fill(path: str, count: int) -> float:
    """So many tasks of a far future, and one that is due; how long it took to add them."""
    started = perf_counter()
    asyncio.run(add(Path(path), work.async_noop, chain(far_away(count), [(work.now(), {})])))
    return perf_counter() - started


def far_away(count: int) -> Iterable[Wanted]:
    later = work.now() + timedelta(days=365)
    return ((later + timedelta(seconds=number), {}) for number in range(count))


def to_watch(instants: Sequence[datetime]) -> Iterable[Wanted]:
    return ((due, {"due": work.microseconds(due)}) for due in instants)


async def add(place: Path | str, function: Work, wanted: Iterable[Wanted], owner: str | None = None) -> None:
    """Without an engine."""
    async with Horae(address(place), engine=False) as app:
        task, left = app.task(function), iter(wanted)
        while some := [(task, when, payload) for when, payload in islice(left, _AT_ONCE)]:
            await app.schedule_many(some, owner=owner)


async def _drain(path: Path, count: int) -> dict[str, float]:
    await add(path, work.async_noop, [(work.now(), {})] * count)
    return await drain_added(path, count)


async def drain_added(place: Path | str, count: int) -> dict[str, float]:
    """The same, where they were added before."""
    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    app = Horae(address(place))
    app.task(work.async_noop)
    stopwatch = Stopwatch()
    async with app:
        await finished.wait()
    return stopwatch.read() | {"left": count - await recorded(place)}


async def recorded(place: Path | str) -> int:
    """How many runs the ledger holds as succeeded."""
    found, after = 0, None
    wanted = RunFilter(states=frozenset({RunState.SUCCEEDED}))
    async with Horae(address(place), engine=False) as app:
        while True:
            page = await app.store.runs(wanted, after, MAX_PAGE_SIZE)
            found, after = found + len(page.items), page.after
            if after is None:
                return found
