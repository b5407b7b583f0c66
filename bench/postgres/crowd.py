"""A million future tasks on PostgreSQL: lateness, cost of finding the due one, and an idle engine."""

from __future__ import annotations

from contextlib import ExitStack
from time import perf_counter
from typing import Final

from bench.engine.samples import Samples, usual_rows
from bench.engine.steady_rate import early
from bench.measure import Timing
from bench.postgres.bench_server import HORAE, BenchServer
from bench.postgres.contender import Contender
from bench.postgres.lateness import RATES, turns
from bench.results import Bar, Row, Section, counted, timed
from horae.clock import SystemClock

_CLAIM: Final = Bar("at most", 2)
_SETTLING: Final = 12  # seconds
_STATEMENTS: Final = Bar("at most", 0.25)


def crowd(bench_server: BenchServer) -> list[Section]:
    """Idleness is watched while others fill their tables: it is counted, not timed."""
    count = bench_server.sizes.crowd
    url, started = bench_server.new_database(), perf_counter()
    HORAE.run("crowd", url=url, count=count)
    seconds = perf_counter() - started
    bench_server.tidy(url)
    rate, margin = RATES[0]
    seen = turns(bench_server, url, rate)
    bare, ours = Samples.of(seen["bare"]), Samples.of(seen["ours"])
    rows: list[Row] = [
        *usual_rows("a bare commit", bare),
        *usual_rows("Horae, lateness", ours, Bar("at most", bare.percentile(0.99) * 1e3 + margin)),
        early(ours),
        _fetching(bench_server, HORAE, url, "Horae, a claim of the one that is due", _CLAIM),
        counted(f"Horae, adding {count:,} tasks", seconds, "s"),
    ]
    bench_server.drop(url)
    at_rest = idle(bench_server)
    rows += [_among_many(bench_server, peer) for peer in bench_server.peers]
    notes = (f"{len(ours.all):,} timed tasks at {rate} a second. A claim counts with its commit, as does a fetch.",)
    return [Section(f"PostgreSQL: {count:,} future tasks", tuple(rows), notes), at_rest]


def idle(bench_server: BenchServer) -> Section:
    """All contenders at once, each in its own database."""
    contenders, clock = (HORAE, *bench_server.peers), SystemClock()
    seconds = bench_server.sizes.idle_seconds
    urls = {contender.name: bench_server.new_database() for contender in contenders}
    HORAE.run("crowd", url=urls[HORAE.name], count=bench_server.sizes.handful)
    for url in urls.values():
        bench_server.count_statements(url)
    with ExitStack() as stack:
        for contender in contenders:
            stack.enter_context(contender.start("rest", url=urls[contender.name], seconds=seconds * 10))
        # What comes of starting is over then, also in a short look.
        clock.sleep(min(seconds, _SETTLING))
        before, started = {name: bench_server.statements(url) for name, url in urls.items()}, perf_counter()
        clock.sleep(seconds)
        after, watched = {name: bench_server.statements(url) for name, url in urls.items()}, perf_counter() - started
    rows = [
        counted(
            f"{name}, statements",
            (after[name] - before[name]) / watched,
            "/s",
            _STATEMENTS if name == "Horae" else None,
        )
        for name in urls
    ]
    notes = (
        f"Watched for {watched:.0f} s, with {bench_server.sizes.handful:,} future tasks for Horae and none for the peers.",
        "The peers have the settings with which their lateness was measured.",
    )
    return Section("PostgreSQL: idle", tuple(rows), notes)


def _among_many(bench_server: BenchServer, peer: Contender) -> Row:
    url = bench_server.new_database()
    peer.run("crowd", url=url, count=bench_server.sizes.crowd)
    bench_server.tidy(url)
    row = _fetching(bench_server, peer, url, f"{peer.name}, a fetch of the one that is due")
    bench_server.drop(url)
    return row


def _fetching(bench_server: BenchServer, contender: Contender, url: str, what: str, bar: Bar | None = None) -> Row:
    times = bench_server.sizes.claims if contender is HORAE else bench_server.sizes.fetches
    seconds = contender.run("fetches", url=url, times=times)
    return timed(what, Timing(tuple(seconds)), "ms", bar)
