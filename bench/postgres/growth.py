"""`python -m bench --only postgres-growth --minutes 60`: table growth under a steady load with retention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple

from bench.counts import Counts
from bench.engine import child, work
from bench.postgres.bench_server import BenchServer, bench_server, database_name
from bench.postgres.loop import run
from bench.results import Row, Section, counted
from horae import Horae
from horae.clock import SystemClock
from horae.engine.settings import EngineSettings

_TASKS: Final = 100
_EVERY: Final = "every 1s"
_SETTINGS: Final = EngineSettings(keep_for=timedelta(minutes=3), keep_runs=100, upkeep_every=timedelta(seconds=20))
_MEGABYTE: Final = 1024 * 1024
_TABLES: Final = """
SELECT relname, pg_total_relation_size(relid), n_live_tup, n_dead_tup FROM pg_stat_user_tables ORDER BY 2 DESC, 1
"""


class Table(NamedTuple):
    name: str
    size: int
    live: int
    dead: int


def growth(counts: Counts, minutes: float) -> list[Section]:
    """A line for each table every minute; in the end, how far each has grown since the first third was over."""
    with bench_server(replace(counts.postgres, peers=False)) as here:
        url = here.new_database()
        with child.start(steady, url=url, seconds=minutes * 120):
            seen = [_after_a_minute(here, url, number) for number in range(1, max(round(minutes), 2) + 1)]
    before, after = seen[len(seen) // 3], seen[-1]
    rows = [row for table in after for row in _grown(table, before)]
    notes = (
        f"{_TASKS} tasks, {_EVERY}, for {len(seen)} minutes.",
        f"Runs are kept for {_SETTINGS.keep_for.total_seconds():.0f} s, and {_SETTINGS.keep_runs} of a task at most.",
        f"Growth: the size at the end, against that after {len(seen) // 3 + 1} minutes.",
    )
    return [Section("PostgreSQL: growth under a steady load", tuple(rows), notes)]


def steady(url: str, seconds: float) -> None:
    run(_steady(url, seconds))


async def _steady(url: str, seconds: float) -> None:
    app = Horae(url, settings=_SETTINGS)
    task = app.task(work.async_noop)
    async with app:
        await app.schedule_many([(task, _EVERY, None)] * _TASKS)
        await work.pass_time(seconds)


def _after_a_minute(here: BenchServer, url: str, number: int) -> Sequence[Table]:
    SystemClock().sleep(60)
    answer = here.server.ask(_TABLES, database=database_name(url))
    tables = [_table(*line.split("|")) for line in answer.splitlines()]
    print(f"after {number} min")
    for table in tables:
        if table.size > _MEGABYTE / 10 or table.dead:
            print(
                f"  {table.name:20} {table.size / _MEGABYTE:9.2f} MB {table.live:9,} live {table.dead:9,} dead",
                flush=True,
            )
    return tables


def _table(name: str, size: str, live: str, dead: str) -> Table:
    return Table(name, int(size), int(live), int(dead))


def _grown(table: Table, before: Sequence[Table]) -> list[Row]:
    then = next((each.size for each in before if each.name == table.name), table.size)
    return [
        counted(f"{table.name}, size", table.size / _MEGABYTE, "MB"),
        counted(f"{table.name}, growth", table.size / (then or 1), "x"),
        counted(f"{table.name}, dead rows", table.dead),
    ]
