"""One growing database: cost of the same call at ten thousand and at ten million tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from bench.counts import Counts
from bench.engine import child
from bench.engine.samples import percentile
from bench.measure import Timing
from bench.results import Bar, Row, Section, counted, timed
from bench.scale import asking, filling, singles
from bench.scale.curve import matrix, milliseconds, short
from bench.scale.server import Table, facts, indexes, started, tables
from bench.scale.sizes import Sizes
from tests.servers.postgres import PostgresServer

_MEGABYTE: Final = 1e6
_RATE: Final = 100
LATENESS: Final = f"lateness at {_RATE} fires a second"
_FLAT: Final = Bar("at most", 3)
_SHOULD_BE_FLAT: Final = frozenset(
    {
        singles.ADD,
        singles.CLAIM,
        singles.SETTLE,
        asking.ASKED["overview"],
        asking.ASKED["tasks, first page, with the newest run of each"],
        asking.ASKED["why the newest occurrence"],
    }
)
_WORTH_TELLING: Final = 0.005
"""Of all that is on the disk."""
_SHARES: Final = (0.5, 0.99)


class Stop(NamedTuple):
    """What was seen at one size."""

    tasks: int
    seen: Mapping[str, Sequence[float]]
    tables: Sequence[Table]
    indexes: Mapping[str, int]
    filled: Mapping[str, float]

    @property
    def size(self) -> float:
        return sum(table.size for table in self.tables) / _MEGABYTE


def growing(counts: Counts) -> Iterator[Section]:
    sizes = counts.scale
    stops: list[Stop] = []
    with started() as server:
        url = server.new_database()
        notes = [f"{facts(server)}."]
        for tasks in sizes.tasks:
            if filling.fits(tasks):
                stops.append(_stopped(server, url, tasks, sizes))
                yield _section(stops[-1])
            else:
                notes.append(f"There was no room on the disk for {tasks:,} tasks.")
    yield _ratios(stops, notes)


def _stopped(server: PostgresServer, url: str, tasks: int, sizes: Sizes) -> Stop:
    filled = child.run(filling.grow, url=url, tasks=tasks)
    seen = {
        **child.run(singles.alone, url=url, times=sizes.singles),
        **child.run(asking.ask, url=url, times=sizes.repetitions),
        **child.run(singles.looks, url=url, times=sizes.repetitions),
        LATENESS: child.run(singles.punctual, url=url, rate=_RATE, seconds=sizes.watched_seconds, lead=sizes.lead),
    }
    return Stop(tasks, seen, tables(server, url), indexes(server, url), filled)


def _section(stop: Stop) -> Section:
    rows: list[Row] = []
    for what, seconds in stop.seen.items():
        if seconds:
            rows.append(timed(what, Timing(tuple(seconds)), "ms"))
            rows.append(counted(f"{what}, p99", percentile(seconds, 0.99) * 1e3, "ms"))
    rows.append(counted("on the disk", stop.size, "MB"))
    silent = tuple(f"{what}: no answer within half a minute." for what, seconds in stop.seen.items() if not seconds)
    notes = (
        f"Filled in {stop.filled['writing']:.0f} s and tidied up in {stop.filled['tidying']:.0f} s.",
        *silent,
        *_room(stop),
    )
    return Section(f"PostgreSQL: {stop.tasks:,} tasks, each with a run", tuple(rows), notes)


def _room(stop: Stop) -> tuple[str, ...]:
    head = ("table", "rows, MB", "indexes, MB", "bytes a task", "dead rows", "autovacuum came")
    lines = [
        (
            table.name,
            short(table.rows_size / _MEGABYTE),
            short(table.indexes_size / _MEGABYTE),
            short(table.size / stop.tasks),
            f"{table.dead:,}",
            str(table.swept),
        )
        for table in stop.tables
        if table.size >= _WORTH_TELLING * stop.size * _MEGABYTE
    ]
    largest = ", ".join(f"`{name}` {short(size / _MEGABYTE)}" for name, size in list(stop.indexes.items())[:8])
    return matrix(head, lines), f"The largest indexes, in MB: {largest}."


def _ratios(stops: Sequence[Stop], notes: Sequence[str]) -> Section:
    first, last = stops[0], stops[-1]
    rows = []
    for what, seconds in first.seen.items():
        if seconds and last.seen[what]:
            small, large = Timing(tuple(seconds)), Timing(tuple(last.seen[what]))
            bar = _FLAT if what in _SHOULD_BE_FLAT else None
            rows.append(Row(what, large.median / small.median, large.best / small.best, "x", None, bar))
    head = ("ms, p50 / p99", *(f"{stop.tasks:,}" for stop in stops))
    lines = [(what, *(milliseconds(stop.seen[what], *_SHARES) for stop in stops)) for what in first.seen]
    lines.append(("on the disk, MB", *(short(stop.size) for stop in stops)))
    title = f"PostgreSQL: from {first.tasks:,} to {last.tasks:,} tasks"
    return Section(title, tuple(rows), (matrix(head, lines), *notes))
