"""Cost of durability alone: one row, one commit, on SQLite with a write-ahead log and synchronous=FULL."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import apsw

from horae.clock import SystemClock


class BareCommits:
    """The floor under everything that is durable here, and the measure of how unquiet the disk is."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute("pragma journal_mode=wal").fetchall()
        self._connection.execute("pragma synchronous=full").fetchall()
        self._connection.execute("create table line (number integer primary key, text text)")

    def block(self, count: int, pause: float = 0.0) -> list[float]:
        """Seconds for each commit: one right after the other, or with a pause before each, as tasks come."""
        clock, seen = SystemClock(), []
        for _ in range(count):
            if pause:
                clock.sleep(pause)
            started = perf_counter()
            self._connection.execute("insert into line (text) values (?)", ("one row",))
            seen.append(perf_counter() - started)
        return seen

    def close(self) -> None:
        self._connection.close()
