"""Huey on SQLite with fsync, its consumer started the way its documentation embeds it.

One thread was fastest here; four is what its documentation shows. Unless told to, it keeps no result of a function that
returns None: `keep` makes it record what it did.
"""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

from huey import SqliteHuey

from bench.engine import work
from bench.engine.stopwatch import Stopwatch


def drain(count: int, threads: int, *, keep: bool) -> dict[str, float]:
    """So many tasks that wait in its queue: how long until all have run."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "huey.db"
        waiting = SqliteHuey(filename=str(path), fsync=False)
        task = waiting.task()(work.noop)
        for _ in range(count):
            task()
        waiting.storage.close()
        return _drain(path, count, threads, keep=keep)


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


def _drain(path: Path, count: int, threads: int, *, keep: bool) -> dict[str, float]:
    huey = SqliteHuey(filename=str(path), fsync=True, store_none=keep)
    huey.task()(work.noop)
    finished = threading.Event()
    work.tally.expect(count, finished.set)
    stopwatch = Stopwatch()
    consumer = huey.create_consumer(workers=threads, worker_type="thread")
    consumer.start()
    finished.wait()
    told = stopwatch.read()
    consumer.stop(graceful=True)
    left = count - huey.result_count() if keep else huey.pending_count()
    huey.storage.close()
    return told | {"left": left}
