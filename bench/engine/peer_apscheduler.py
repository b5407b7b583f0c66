"""APScheduler 3 on SQLite with synchronous=FULL: as it comes, and as fast as it gets.

Of its schedulers the one on an event loop was fastest here, and a write-ahead log doubles what SQLite's default journal
gives. It keeps no history: a job that ran is deleted, and that is its only durable write.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import create_engine, event

from bench.engine import work
from bench.engine.stopwatch import Stopwatch


def drain(count: int) -> dict[str, float]:
    """So many jobs that are due already: how long until all have run. On an event loop, with a write-ahead log."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_drain_on_loop(Path(folder), count))


def drain_in_threads(count: int, journal: str) -> dict[str, float]:
    """The same with the scheduler that its guide begins with, and its pool of ten threads."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        asyncio.run(_preload(path, work.noop, [(_long_ago(), ())] * count))
        finished = threading.Event()
        work.tally.expect(count, finished.set)
        stopwatch = Stopwatch()
        scheduler = BackgroundScheduler(jobstores={"default": _store(path, "FULL", journal)}, timezone=UTC)
        scheduler.start()
        finished.wait()
        told = stopwatch.read()
        left = len(scheduler.get_jobs())  # waits until the last one has been deleted
        scheduler.shutdown()
        return told | {"left": left}


def punctual(rate: float, seconds: float) -> list[float]:
    """Jobs at a steady rate: how late each of them was."""
    with TemporaryDirectory() as folder:
        return asyncio.run(_punctual(Path(folder), rate, seconds))


async def _drain_on_loop(folder: Path, count: int) -> dict[str, float]:
    await _preload(folder, work.async_noop, [(_long_ago(), ())] * count)
    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    stopwatch = Stopwatch()
    scheduler = _on_loop(folder, "FULL")
    scheduler.start()
    await finished.wait()
    told = stopwatch.read()
    left = len(scheduler.get_jobs())
    await _shut_down(scheduler)
    return told | {"left": left}


async def _punctual(folder: Path, rate: float, seconds: float) -> list[float]:
    # Adding a job takes it a third of a millisecond; all are there before the first is due.
    instants = work.at_rate(rate, seconds, lead=1 + rate * seconds / 1_000)
    await _preload(folder, work.async_timed, [(due, (work.microseconds(due),)) for due in instants])
    finished = asyncio.Event()
    work.watch.expect(len(instants), finished.set)
    scheduler = _on_loop(folder, "FULL")
    scheduler.start()
    await finished.wait()
    await _shut_down(scheduler)
    return work.watch.lateness()


async def _preload(
    folder: Path, function: Callable[..., Any], jobs: Iterable[tuple[datetime, tuple[int, ...]]]
) -> None:
    """Without waiting for the disk: this part is not timed."""
    scheduler = _on_loop(folder, "OFF")
    scheduler.start(paused=True)
    for due, arguments in jobs:
        scheduler.add_job(function, "date", run_date=due, args=arguments, misfire_grace_time=None)
    await _shut_down(scheduler)


async def _shut_down(scheduler: Any) -> None:
    """It stops in a callback of the loop; a callback that is asked for later comes later."""
    scheduler.shutdown()
    stopped = asyncio.Event()
    asyncio.get_running_loop().call_soon(stopped.set)
    await stopped.wait()


def _on_loop(folder: Path, synchronous: str) -> Any:
    return AsyncIOScheduler(jobstores={"default": _store(folder, synchronous, "wal")}, timezone=UTC)


def _store(folder: Path, synchronous: str, journal: str) -> Any:
    engine = create_engine(f"sqlite:///{folder / 'jobs.db'}")

    def connected(connection: Any, _: object) -> None:
        connection.execute(f"pragma journal_mode={journal}")
        connection.execute(f"pragma synchronous={synchronous}")

    event.listen(engine, "connect", connected)
    return SQLAlchemyJobStore(engine=engine)


def _long_ago() -> datetime:
    return work.now() - timedelta(minutes=1)
