"""taskiq with its Redis list broker and a result backend that keeps the results."""

from __future__ import annotations

import asyncio
from time import perf_counter, process_time
from typing import Any, Final

from taskiq.api import run_receiver_task
from taskiq_redis import ListQueueBroker, RedisAsyncResultBackend

from bench.engine import work
from bench.postgres.loop import run

_AT_ONCE: Final = 200
_LOOK_SECONDS: Final = 0.005


def enqueue(url: str, count: int) -> None:
    run(_enqueue(url, count))


def drain(url: str, count: int) -> dict[str, float]:
    return run(_drain(url, count))


def _broker(url: str) -> tuple[Any, Any]:
    results: Any = RedisAsyncResultBackend(redis_url=url, keep_results=True)
    broker: Any = ListQueueBroker(url=url).with_result_backend(results)

    async def noop() -> None:
        work.tally.called()

    return broker, broker.register_task(noop, task_name="noop")


async def _enqueue(url: str, count: int) -> None:
    broker, task = _broker(url)
    await broker.startup()
    for start in range(0, count, _AT_ONCE):
        await asyncio.gather(*(task.kiq() for _ in range(min(_AT_ONCE, count - start))))
    await broker.shutdown()


async def _drain(url: str, count: int) -> dict[str, float]:
    from redis.asyncio import Redis  # noqa: PLC0415 - only this operation needs it

    finished = asyncio.Event()
    work.tally.expect(count, finished.set)
    broker, _ = _broker(url)
    broker.is_worker_process = True
    client: Any = Redis.from_url(url)
    started, busy = perf_counter(), process_time()
    receiver = asyncio.ensure_future(run_receiver_task(broker, max_async_tasks=_AT_ONCE))
    await finished.wait()
    # A result is a key; the list of what is to be done is gone by then.
    while (kept := await client.dbsize()) < count:
        await work.pass_time(_LOOK_SECONDS)
    told = {"seconds": perf_counter() - started, "busy": process_time() - busy, "left": max(count - kept, 0)}
    receiver.cancel()
    await asyncio.gather(receiver, return_exceptions=True)
    await broker.shutdown()
    await client.aclose()
    return told
