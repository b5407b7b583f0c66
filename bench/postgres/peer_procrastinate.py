"""Procrastinate: one worker with high concurrency, jobs kept as Horae keeps runs. It fetches one job at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any, Final

from procrastinate import App, PsycopgConnector

from bench.engine import work
from bench.engine.stopwatch import Stopwatch
from bench.postgres.loop import run

_SEATS: Final = 50
_CONNECTIONS: Final = 10
_EAGER: Final = 0.001  # seconds between two looks: no other way to hear of what was added before it is due
_AT_ONCE: Final = 5_000

_TIMED: Final = """
INSERT INTO procrastinate_jobs (queue_name, task_name, args, scheduled_at)
SELECT 'default', 'timed', jsonb_build_object('due', due), to_timestamp(due / 1e6) FROM unnest(%(dues)s::bigint[]) due
"""
_CROWD: Final = """
INSERT INTO procrastinate_jobs (queue_name, task_name, scheduled_at)
SELECT 'default', 'noop', now() + interval '1 year' + number * interval '1 second'
FROM generate_series(1, %(count)s::int) number
"""
_LEFT: Final = "SELECT count(*) AS number FROM procrastinate_jobs WHERE status <> 'succeeded'"


def enqueue(url: str, count: int) -> None:
    run(_enqueue(url, count))


def drain(url: str, count: int) -> dict[str, float]:
    return run(_drain(url, count))


def punctual(url: str, rate: float, seconds: float, lead: float, *, usual: bool = False) -> list[float]:
    return run(_punctual(url, rate, seconds, lead, usual=usual))


def crowd(url: str, count: int) -> None:
    run(_crowd(url, count))


def fetches(url: str, times: int) -> list[float]:
    return run(_fetches(url, times))


def rest(url: str, seconds: float) -> None:
    run(_rest(url, seconds))


async def _enqueue(url: str, count: int) -> None:
    async with _opened(url, fresh=True) as app:
        for begin in range(0, count, _AT_ONCE):
            await app.tasks["noop"].batch_defer_async(*[{}] * min(_AT_ONCE, count - begin))


async def _drain(url: str, count: int) -> dict[str, float]:
    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    stopwatch = Stopwatch()
    async with _opened(url) as app:
        async with _working(app):
            await finished.wait()
            told = stopwatch.read()
        row = await app.connector.execute_query_one_async(_LEFT)
    return told | {"left": row["number"]}


async def _punctual(url: str, rate: float, seconds: float, lead: float, *, usual: bool) -> list[float]:
    finished = asyncio.Event()
    async with _opened(url, fresh=True) as app, _working(app, *(() if usual else (_EAGER,))):
        instants = work.at_rate(rate, seconds, lead)
        work.watch.expect(len(instants), finished.set)
        await app.connector.execute_query_async(_TIMED, dues=[work.microseconds(due) for due in instants])
        assert work.now() < instants[0], "the first was due before all were added"
        await finished.wait()
    return work.watch.lateness()


async def _crowd(url: str, count: int) -> None:
    async with _opened(url, fresh=True) as app:
        await app.connector.execute_query_async(_CROWD, count=count)


async def _fetches(url: str, times: int) -> list[float]:
    seen = []
    async with _opened(url) as app:
        worker = await app.job_manager.register_worker()
        for _ in range(times):
            await app.tasks["noop"].defer_async()
            started = perf_counter()
            job = await app.job_manager.fetch_job(queues=None, worker_id=worker)
            seen.append(perf_counter() - started)
            assert job is not None
    return seen


async def _rest(url: str, seconds: float) -> None:
    async with _opened(url, fresh=True) as app, _working(app, _EAGER):
        await work.pass_time(seconds)


@asynccontextmanager
async def _opened(url: str, *, fresh: bool = False) -> AsyncIterator[Any]:
    app = App(connector=PsycopgConnector(conninfo=url, min_size=_CONNECTIONS, max_size=_CONNECTIONS))
    app.task(name="noop")(work.async_noop)
    app.task(name="timed")(work.async_timed)
    async with app.open_async():
        if fresh:
            await app.schema_manager.apply_schema_async()
        yield app


@asynccontextmanager
async def _working(app: Any, poll: float = 5) -> AsyncIterator[None]:
    worker = asyncio.create_task(
        app.run_worker_async(concurrency=_SEATS, fetch_job_polling_interval=poll, install_signal_handlers=False)
    )
    try:
        yield
    finally:
        worker.cancel()
        await asyncio.wait({worker})
