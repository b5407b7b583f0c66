"""Several processes with an engine on one store against one: `python -m bench.processes sqlite` (`postgres`, `mariadb`).

The processes take turns in one run, so a disturbance of the machine affects all counts of processes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench.engine import child, work
from bench.postgres import horae_side
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer

_START: Final = 2.0  # seconds: enough for each process to be there


class Drain(NamedTuple):
    """Seconds for one task: from the start of the processes to the last claim, and of the processors they used."""

    elapsed: float
    busy: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", choices=("sqlite", "postgres", "mariadb"))
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    chosen = parser.parse_args()
    drains: dict[int, list[Drain]] = {count: [] for count in chosen.processes}
    with _stores(chosen.store) as urls:
        for turn in range(chosen.rounds):
            for count in chosen.processes if turn % 2 == 0 else reversed(chosen.processes):
                drains[count].append(_drain(next(urls), count, chosen.tasks))
    base = drains[chosen.processes[0]]
    for count, seen in drains.items():
        pairs = list(zip(seen, base, strict=True))
        speed = sorted(first.elapsed / each.elapsed for each, first in pairs)
        busy = sorted(each.busy / first.busy for each, first in pairs)
        print(
            f"{chosen.store}, {count} processes: {1 / median(each.elapsed for each in seen):,.0f} tasks/s, "
            f"{speed[0]:.2f} to {speed[-1]:.2f} (median {median(speed):.2f}) times as many as {chosen.processes[0]}; "
            f"{1e6 * median(each.busy for each in seen):.0f} µs of processor for each, "
            f"{busy[0]:.2f} to {busy[-1]:.2f} (median {median(busy):.2f}) times"
        )


def _drain(url: str, processes: int, tasks: int) -> Drain:
    child.run(horae_side.enqueue, url=url, count=tasks)
    begin = work.now().timestamp() + _START
    with ExitStack() as stack:
        running = [stack.enter_context(child.start(horae_side.share, url=url, begin=begin)) for _ in range(processes)]
        seen = [each.result() for each in running]
    assert child.run(horae_side.recorded, url=url) == tasks
    elapsed = max(each["ended"] for each in seen) - min(each["began"] for each in seen)
    return Drain(elapsed / tasks, sum(each["busy"] for each in seen) / tasks)


@contextmanager
def _stores(kind: str) -> Iterator[Iterator[str]]:
    """Yield addresses of empty stores."""
    if kind == "sqlite":
        with TemporaryDirectory() as folder:
            yield (f"sqlite:///{Path(folder) / f'{number}.db'}" for number in range(1_000_000))
        return
    with PostgresServer() if kind == "postgres" else MariaDBServer() as server:
        yield (server.new_database() for _ in range(1_000_000))


if __name__ == "__main__":
    main()
