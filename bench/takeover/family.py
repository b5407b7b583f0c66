"""`python -m bench --only takeover`: distribution of takeover times on PostgreSQL by fault."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from bench.counts import Counts
from bench.engine.samples import percentile
from bench.results import Bar, Row, Section, counted
from bench.takeover.restarts import come_back
from bench.takeover.scale import Tries
from bench.takeover.victims import FAULTS, take_over
from tests.servers.postgres import PostgresServer

_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "worst": 1.0}
_BACK_SECONDS: Final = 5
_CONNECTIONS: Final = "600"


def takeover(counts: Counts) -> list[Section]:
    tries = counts.takeover
    with PostgresServer(settings={"max_connections": _CONNECTIONS}) as server:
        return [_taken_over(server, tries), _back(server, tries)]


def _taken_over(server: PostgresServer, tries: Tries) -> Section:
    rows: list[Row] = []
    for name, fault in islice(FAULTS.items(), tries.faults):
        seconds = [each for seed in range(tries.rounds) for each in take_over(server, tries, fault, seed)]
        bar = None if fault.promised is None else Bar("at most", tries.lease + fault.promised)
        rows += _rows(name, seconds, bar)
    note = (
        f"{tries.victims * tries.rounds} tries each, {tries.victims} nodes with a run each beside one survivor; seconds from "
        "the fault to the next start of the run."
    )
    return Section(f"Takeover on PostgreSQL, with a lease of {tries.lease:g} s", tuple(rows), (note,))


def _back(server: PostgresServer, tries: Tries) -> Section:
    rows = _rows("kill -9 and start", come_back(server, tries), Bar("at most", _BACK_SECONDS))
    note = f"{tries.restarts} times, two nodes; seconds from its return to the first effect after it."
    return Section("The database is restarted", tuple(rows), (note,))


def _rows(what: str, seconds: Sequence[float], bar: Bar | None) -> list[Row]:
    """The bar is for the worst."""
    values = {name: percentile(seconds, share) for name, share in _SHARES.items()}
    return [counted(f"{what}, {name}", value, "s", bar if name == "worst" else None) for name, value in values.items()]
