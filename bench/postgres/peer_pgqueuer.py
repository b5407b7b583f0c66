"""PgQueuer on an asyncpg pool: large batches, deferred statistics, and a poll of a millisecond for lateness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from time import perf_counter
from typing import Any, Final

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.ports.repository import EntrypointExecutionParameter

from bench.engine import work
from bench.engine.stopwatch import Stopwatch
from bench.postgres.loop import run

_BATCH: Final = 500
_CONNECTIONS: Final = 5
_NAP: Final = timedelta(milliseconds=1)  # a tenth of a second by default
_AT_ONCE: Final = 10_000

_TIMED: Final = """
INSERT INTO pgqueuer (priority, status, entrypoint, payload, execute_after)
SELECT 0, 'queued', 'timed', convert_to(due::text, 'UTF8'), to_timestamp(due / 1e6) FROM unnest($1::bigint[]) due
"""
_CROWD: Final = """
INSERT INTO pgqueuer (priority, status, entrypoint, execute_after)
SELECT 0, 'queued', 'noop', now() + interval '1 year' + number * interval '1 second'
FROM generate_series(1, $1::int) number
"""
_LEFT: Final = "SELECT count(*) AS number FROM pgqueuer"


def enqueue(url: str, count: int) -> None:
    run(_enqueue(url, count))


def drain(url: str, count: int, batch: int = _BATCH) -> dict[str, float]:
    return run(_drain(url, count, batch))


def punctual(url: str, rate: float, seconds: float, lead: float, *, usual: bool = False) -> list[float]:
    return run(_punctual(url, rate, seconds, lead, usual=usual))


def crowd(url: str, count: int) -> None:
    run(_crowd(url, count))


def fetches(url: str, times: int) -> list[float]:
    return run(_fetches(url, times))


def rest(url: str, seconds: float) -> None:
    run(_rest(url, seconds))


async def _enqueue(url: str, count: int) -> None:
    async with _opened(url, fresh=True) as queue:
        for begin in range(0, count, _AT_ONCE):
            many = min(_AT_ONCE, count - begin)
            await queue.queries.enqueue(["noop"] * many, [None] * many, [0] * many)


async def _drain(url: str, count: int, batch: int) -> dict[str, float]:
    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    stopwatch = Stopwatch()
    async with _opened(url) as queue:
        async with _working(queue, batch):
            await finished.wait()
            told = stopwatch.read()
        (row,) = await queue.connection.fetch(_LEFT)
    return told | {"left": row["number"]}


async def _punctual(url: str, rate: float, seconds: float, lead: float, *, usual: bool) -> list[float]:
    finished = asyncio.Event()
    async with _opened(url, fresh=True) as queue, _working(queue, nap=None if usual else _NAP):
        instants = work.at_rate(rate, seconds, lead)
        work.watch.expect(len(instants), finished.set)
        # Its own call takes a delay that counts from whenever it arrives: here the instants are exact.
        await queue.connection.execute(_TIMED, [work.microseconds(due) for due in instants])
        assert work.now() < instants[0], "the first was due before all were added"
        await finished.wait()
    return work.watch.lateness()


async def _crowd(url: str, count: int) -> None:
    async with _opened(url, fresh=True) as queue:
        await queue.connection.execute(_CROWD, count)


async def _fetches(url: str, times: int) -> list[float]:
    seen, wanted = [], {"noop": EntrypointExecutionParameter(concurrency_limit=0)}
    async with _opened(url) as queue:
        for _ in range(times):
            await queue.queries.enqueue("noop", None)
            started = perf_counter()
            jobs = await queue.queries.dequeue(
                batch_size=_BATCH,
                entrypoints=wanted,
                queue_manager_id=queue.qm.queue_manager_id,
                global_concurrency_limit=None,
                heartbeat_timeout=timedelta(seconds=30),
            )
            seen.append(perf_counter() - started)
            assert len(jobs) == 1
    return seen


async def _rest(url: str, seconds: float) -> None:
    async with _opened(url, fresh=True) as queue, _working(queue):
        await work.pass_time(seconds)


async def _noop(_job: Any) -> None:
    work.tally.called()


async def _timed(job: Any) -> None:
    work.watch.called_for(int(job.payload))


@asynccontextmanager
async def _opened(url: str, *, fresh: bool = False) -> AsyncIterator[Any]:
    async with asyncpg.create_pool(url, min_size=_CONNECTIONS, max_size=_CONNECTIONS) as pool:
        queue = PgQueuer.from_asyncpg_pool(pool)
        if fresh:
            await queue.queries.install()
            await queue.queries.optimize_autovacuum()
        queue.entrypoint("noop", accepts_context=False)(_noop)
        queue.entrypoint("timed", accepts_context=False)(_timed)
        yield queue


@asynccontextmanager
async def _working(queue: Any, batch: int = _BATCH, nap: timedelta | None = _NAP) -> AsyncIterator[None]:
    if nap is not None:
        queue.qm.min_dequeue_poll_interval = nap
    worker = asyncio.create_task(queue.qm.run(batch_size=batch, log_aggregation_interval=timedelta(0)))
    try:
        yield
    finally:
        queue.shutdown.set()
        await worker
