"""Lateness of tasks on PostgreSQL at a steady rate, compared with bare commits on the same server."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from bench.engine import child
from bench.engine.samples import Samples, usual_rows
from bench.engine.steady_rate import early
from bench.postgres import horae_side
from bench.postgres.bench_server import BenchServer
from bench.postgres.contender import Contender
from bench.results import Bar, Row, Section, counted

# Tasks a second, and how much later than a bare commit the slowest hundredth may be, in milliseconds.
RATES: Final = ((100, 5), (1_000, 15))
_BETTER: Final = Bar("at least", 5)


def lateness(bench_server: BenchServer, rate: int, margin: float) -> Section:
    seen = turns(bench_server, bench_server.new_database(), rate)
    bare, ours = Samples.of(seen["bare"]), Samples.of(seen["ours"])
    theirs = {peer.name: _watched(bench_server, peer, rate) for peer in bench_server.peers}
    theirs |= {
        f"{peer.name}, as it comes": _watched(bench_server, peer, rate, usual=True)
        for peer in bench_server.peers
        if peer.hurried
    }
    rows = [
        *usual_rows("a bare commit", bare),
        *usual_rows("a bare commit after a pause", Samples.of(seen["paced"])),
        *usual_rows("Horae, lateness", ours, Bar("at most", bare.percentile(0.99) * 1e3 + margin)),
        early(ours),
    ]
    for name, late in theirs.items():
        rows += usual_rows(f"{name}, lateness", late)
    rows += [_better(name, ours, late) for name, late in theirs.items()]
    notes = (
        f"{len(ours.all):,} tasks in {len(ours.blocks)} blocks that take turns with bare commits, one right after the other.",
        f"Target: the p99 of a bare commit and {margin} ms more.",
        "Graphile Worker and Procrastinate look for work every millisecond, whatever that costs; PgQueuer and APScheduler",
        "sleep until the next is due, PgQueuer for a millisecond at least.",
        "As it comes: with the settings that a peer has by default. Graphile Worker looks every two seconds then, Procrastinate",
        "every five, and PgQueuer rests for a tenth of a second at least.",
    )
    return Section(f"PostgreSQL: lateness at {rate:,} tasks a second", tuple(rows), notes)


def turns(bench_server: BenchServer, url: str, rate: float) -> dict[str, Any]:
    """Horae's timed tasks and bare commits, in the blocks in which they took turns."""
    told: dict[str, Any] = child.run(
        horae_side.take_turns, url=url, bare=bench_server.new_database(), rate=rate, sizes=asdict(bench_server.sizes)
    )
    return told


def _watched(bench_server: BenchServer, peer: Contender, rate: int, **settings: bool) -> Samples:
    sizes = bench_server.sizes
    seconds = sizes.peer_seconds if rate == RATES[0][0] else sizes.busy_peer_seconds
    url = bench_server.new_database()
    late = peer.run("punctual", url=url, rate=rate, seconds=seconds, lead=sizes.lead, **settings)
    bench_server.drop(url)
    return Samples.of([late])


def _better(name: str, ours: Samples, theirs: Samples) -> Row:
    ratio = theirs.percentile(0.99) / ours.percentile(0.99)
    return counted(f"p99 of {name}, against Horae's", ratio, "x", _BETTER)
