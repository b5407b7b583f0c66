"""Work of a PostgreSQL server for each run, of two checkouts: log bytes, statements, transactions, time in statements.

    python -m bench.server_work ../before ../after --pairs 5

Counts hardly depend on other work on the machine, as instructions do. No checkpoint falls into a run, so that the
log holds hardly any page images. The runs of a pair alternate; the medians of both sides are compared.
In the store of the second checkout are a lane with a rate, a chain, a label, and owners with a limit and a block.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

from bench.compare import DRAIN, Checkout, Sample, prepare
from bench.instructions import CLAIM
from tests.servers.postgres import PostgresServer

SETTINGS: Final = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track_planning": "on",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "8GB",
}
_LOG_POSITION: Final = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
_RESET: Final = "SELECT pg_stat_statements_reset()"
_TOTALS: Final = """
SELECT json_build_array(
  sum(calls), sum(total_exec_time + total_plan_time) * 1000, sum(shared_blks_hit + shared_blks_read),
  sum(calls) FILTER (WHERE query LIKE 'COMMIT%')
) FROM pg_stat_statements JOIN pg_database ON oid = dbid WHERE datname = '{database}'
"""
_SLOWEST: Final = """
SELECT calls, round((total_exec_time + total_plan_time)::numeric, 1), shared_blks_hit, wal_records, wal_bytes,
  left(regexp_replace(query, '\\s+', ' ', 'g'), 110)
FROM pg_stat_statements JOIN pg_database ON oid = dbid WHERE datname = '{database}'
ORDER BY total_exec_time + total_plan_time DESC LIMIT 16
"""
_MEASURES: Final = ("log bytes", "statements", "µs in statements", "pages looked at", "commits")


def measure(
    server: PostgresServer, checkout: Checkout, program: str, tasks: int, *, beside: bool, shows: bool = False
) -> Sample:
    """Return the work of the server for one run: claim, settlement and, with the whole path, the creation of the task."""
    url = server.new_database()
    database = urlsplit(url).path[1:]
    try:
        with TemporaryDirectory() as folder:
            if beside:
                prepare(checkout, Path(folder), url)
            else:
                checkout.run("-m", "horae", "add", "in 2h", "--say", "x", "--store", url, folder=Path(folder))
            server.ask("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            server.ask(_RESET)
            began = int(server.ask(_LOG_POSITION))
            checkout.run("-c", program, url, str(tasks), folder=Path(folder))
            written = int(server.ask(_LOG_POSITION)) - began
        totals = json.loads(server.ask(_TOTALS.format(database=database)))
        if shows:
            print(server.ask(_SLOWEST.format(database=database)))
        return dict(
            zip(_MEASURES, [each / tasks for each in (written, *(total or 0 for total in totals))], strict=True)
        )
    finally:
        server.drop_database(url)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.server_work", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=2_500)
    parser.add_argument("--shows", action="store_true", help="the slowest statements of each run")
    parser.add_argument("--alone", action="store_true", help="nothing else in the store of the second checkout")
    chosen = parser.parse_args(arguments)
    sides = [Checkout(each.resolve()) for each in (chosen.before, chosen.after)]
    print("| work of the server for each run | measure | before | after | after / before |\n|---|---|--:|--:|--:|")
    with PostgresServer(settings=SETTINGS) as server:
        for title, program in (("whole path, with creation", DRAIN), ("claims and settlements of 100", CLAIM)):
            samples: tuple[list[Sample], list[Sample]] = ([], [])
            for pair in range(chosen.pairs):
                for side in (0, 1) if pair % 2 == 0 else (1, 0):
                    beside = side == 1 and not chosen.alone
                    found = measure(
                        server, sides[side], program, chosen.tasks, beside=beside, shows=chosen.shows and not pair
                    )
                    samples[side].append(found)
            for name in _MEASURES:
                old, new = (statistics.median(each[name] for each in side) for side in samples)
                print(f"| {title} | {name} | {old:,.3f} | {new:,.3f} | {new / old if old else 1:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
