"""Huey on SQLite with fsync, its consumer started the way its documentation embeds it.

One thread was fastest here; four is what its documentation shows. Unless told to, it keeps no result of a function that
returns None: `keep` makes it record what it did.
"""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from huey import SqliteHuey

from bench.engine import work


def drain(count: int, threads: int, *, keep: bool) -> dict[str, float]:
    """So many tasks that wait in its queue: how long until all have run."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "huey.db"
        waiting = SqliteHuey(filename=str(path), fsync=False)
        task = waiting.task()(work.noop)
        for _ in range(count):
            task()
        waiting.storage.close()
        return _drain(SqliteHuey(filename=str(path), fsync=True, store_none=keep), count, threads)


def punctual(rate: float, seconds: float, threads: int) -> list[float]:
    """Tasks at a steady rate: how late each of them was. Its scheduler looks once a second, and cannot look more often."""
    with TemporaryDirectory() as folder:
        huey = SqliteHuey(filename=str(Path(folder) / "huey.db"), fsync=True)
        task = huey.task()(work.timed)
        # Each is written, read by a worker and put on the schedule before it is due.
        instants = work.at_rate(rate, seconds, lead=1 + rate * seconds / 250)
        finished = threading.Event()
        work.watch.expect(len(instants), finished.set)
        consumer = huey.create_consumer(workers=threads, worker_type="thread")
        consumer.start()
        for due in instants:
            task.schedule(args=(work.microseconds(due),), eta=due)
        finished.wait()
        consumer.stop(graceful=True)
        huey.storage.close()
        return work.watch.lateness()


def _drain(huey: Any, count: int, threads: int) -> dict[str, float]:
    huey.task()(work.noop)
    finished = threading.Event()
    work.tally.expect(count, finished.set)
    started = perf_counter()
    consumer = huey.create_consumer(workers=threads, worker_type="thread")
    consumer.start()
    finished.wait()
    seconds = perf_counter() - started
    consumer.stop(graceful=True)
    told = {"seconds": seconds, "left": huey.pending_count(), "recorded": huey.result_count()}
    huey.storage.close()
    return told
