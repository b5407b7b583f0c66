"""`python -m bench --only postgres`: Horae and its peers on one PostgreSQL that is started for the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.counts import Counts
from bench.postgres.bench_server import BenchServer, bench_server
from bench.postgres.crowd import crowd
from bench.postgres.lateness import RATES, lateness
from bench.postgres.throughput import throughput
from bench.results import Section


def postgres(counts: Counts) -> Iterator[Section]:
    """Sections one by one: results are printed even if a later one fails."""
    with bench_server(counts.postgres) as here:
        first = throughput(here)
        yield replace(first, notes=(*first.notes, *_facts(here)))
        for rate, margin in RATES:
            yield lateness(here, rate, margin)
        yield from crowd(here)


def _facts(here: BenchServer) -> tuple[str, ...]:
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in here.peers)
    return (
        f"{here.facts()}. Contenders in Python use uvloop where it is installed.",
        *((f"{versions}.",) if versions else ()),
        *here.found.missing,
    )
