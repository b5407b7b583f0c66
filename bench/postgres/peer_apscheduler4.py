"""APScheduler 4, a pre-release, on asyncpg, with its maximum of concurrent jobs. It keeps no history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any, Final

from apscheduler import AsyncScheduler, TaskDefaults
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.triggers.date import DateTrigger
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from bench.engine import work
from bench.engine.stopwatch import Stopwatch
from bench.postgres.loop import run

_SEATS: Final = 100
_CONNECTIONS: Final = 10
_LEASE: Final = timedelta(seconds=30)
_TO_ADD: Final = 0.006  # seconds for one schedule, with some to spare

_COPIES: Final = """
INSERT INTO schedules ({columns})
SELECT {values} FROM schedules CROSS JOIN generate_series(1, {count}) number WHERE id = 'model'
"""
_COLUMNS: Final = "SELECT column_name FROM information_schema.columns WHERE table_name = 'schedules'"


def enqueue(url: str, count: int) -> None:
    run(_enqueue(url, count))


def drain(url: str, count: int) -> dict[str, float]:
    return run(_drain(url, count))


def punctual(url: str, rate: float, seconds: float, lead: float) -> list[float]:
    return run(_punctual(url, rate, seconds, lead))


def crowd(url: str, count: int) -> None:
    run(_crowd(url, count))


def fetches(url: str, times: int) -> list[float]:
    return run(_fetches(url, times))


def rest(url: str, seconds: float) -> None:
    run(_rest(url, seconds))


async def _enqueue(url: str, count: int) -> None:
    async with _opened(url) as scheduler:
        for _ in range(count):
            await scheduler.add_job("noop")


async def _drain(url: str, count: int) -> dict[str, float]:
    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    stopwatch = Stopwatch()
    async with _opened(url) as scheduler:
        await scheduler.start_in_background()
        await finished.wait()
        told = stopwatch.read()
        await scheduler.stop()
        await scheduler.wait_until_stopped()
    async with _opened(url) as scheduler:
        return told | {"left": len(await scheduler.get_jobs())}


async def _punctual(url: str, rate: float, seconds: float, lead: float) -> list[float]:
    finished = asyncio.Event()
    async with _opened(url) as scheduler:
        # It adds them one by one, so there has to be time for all of them before the first is due.
        instants = work.at_rate(rate, seconds, lead + rate * seconds * _TO_ADD)
        work.watch.expect(len(instants), finished.set)
        for begin in range(0, len(instants), _CONNECTIONS):
            await asyncio.gather(*(_add(scheduler, due) for due in instants[begin : begin + _CONNECTIONS]))
        assert work.now() < instants[0], "the first was due before all were added"
        await scheduler.start_in_background()
        await finished.wait()
    return work.watch.lateness()


async def _add(scheduler: Any, due: datetime) -> None:
    await scheduler.add_schedule("timed", DateTrigger(due), kwargs={"due": work.microseconds(due)})


async def _crowd(url: str, count: int) -> None:
    """One by its own call, the others as copies of its row."""
    engine = _engine(url)
    async with _opened(url) as scheduler:
        await scheduler.add_schedule("noop", DateTrigger(datetime(2099, 1, 1, tzinfo=UTC)), id="model")
    async with engine.begin() as connection:
        columns = [row[0] for row in await connection.execute(text(_COLUMNS))]
        values = ["'copy ' || number" if name == "id" else name for name in columns]
        told = _COPIES.format(columns=", ".join(columns), values=", ".join(values), count=count)
        await connection.execute(text(told))
    await engine.dispose()


async def _fetches(url: str, times: int) -> list[float]:
    seen = []
    async with _opened(url) as scheduler:
        for _ in range(times):
            await scheduler.add_schedule("noop", DateTrigger(work.now()))
            started = perf_counter()
            schedules = await scheduler.data_store.acquire_schedules(scheduler.identity, _LEASE, 1)
            seen.append(perf_counter() - started)
            assert len(schedules) == 1
            await scheduler.remove_schedule(schedules[0].id)
    return seen


async def _rest(url: str, seconds: float) -> None:
    async with _opened(url) as scheduler:
        await scheduler.start_in_background()
        await work.pass_time(seconds)


def _engine(url: str) -> Any:
    asked = url.replace("postgresql://", "postgresql+asyncpg://", 1)
    return create_async_engine(asked, pool_size=_CONNECTIONS, max_overflow=0)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Any]:
    engine = _engine(url)
    try:
        async with AsyncScheduler(
            SQLAlchemyDataStore(engine),
            max_concurrent_jobs=_SEATS,
            task_defaults=TaskDefaults(max_running_jobs=None),
        ) as scheduler:
            await scheduler.configure_task("noop", func=work.async_noop)
            await scheduler.configure_task("timed", func=work.async_timed)
            yield scheduler
    finally:
        await engine.dispose()
