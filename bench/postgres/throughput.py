"""A backlog of due one-time tasks on PostgreSQL, from the start of a worker until all are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

from bench.engine import child, work
from bench.engine.throughput import Effort
from bench.measure import Timing
from bench.postgres import horae_side
from bench.postgres.bench_server import HORAE, BenchServer
from bench.postgres.contender import Contender
from bench.results import Bar, Row, Section, timed, times_faster

_TWO: Final = "Horae, two processes"
_BARS: Final = {
    "Procrastinate": Bar("at least", 30),
    "PgQueuer": Bar("at least", 1),
    "Graphile Worker": Bar("at least", 1),
}
_PROCESSES: Final = 2
_START: Final = 2.0  # seconds: enough for each process to be there


def throughput(bench_server: BenchServer) -> Section:
    seen = _take_turns(bench_server)
    elapsed = {name: Timing(tuple(effort.elapsed for effort in efforts)) for name, efforts in seen.items()}
    rows = [Row(name, 1 / timing.median, 1 / timing.best, "/s", timing.spread) for name, timing in elapsed.items()]
    rows += [
        timed(f"{name}, processor time", Timing(tuple(effort.busy for effort in efforts)), "µs")
        for name, efforts in seen.items()
    ]
    ours = elapsed[HORAE.name]
    rows += [
        times_faster(f"Horae, against {peer.name}", ours, elapsed[peer.name], _BARS.get(peer.name))
        for peer in bench_server.peers
    ]
    sizes = bench_server.sizes
    notes = (
        f"{sizes.due:,} tasks, {sizes.slow_due:,} for {' and '.join(peer.name for peer in bench_server.peers if peer.slow)}."
        if bench_server.peers
        else f"{sizes.due:,} tasks.",
        "Horae's time ends when all is in the ledger, a peer's with its last call.",
        "Processor time is that of the worker for one task; the server's is not counted.",
    )
    return Section("PostgreSQL: due one-time tasks", tuple(rows), notes)


def _take_turns(bench_server: BenchServer) -> dict[str, list[Effort]]:
    """All contenders in every round, each in a fresh process on a fresh database."""
    contenders: Mapping[str, Callable[[], Effort]] = {
        HORAE.name: partial(_drained, bench_server, HORAE),
        _TWO: partial(_drained_by_two, bench_server),
        **{peer.name: partial(_drained, bench_server, peer) for peer in bench_server.peers},
    }
    seen: dict[str, list[Effort]] = {name: [] for name in contenders}
    for _ in range(bench_server.sizes.rounds):
        for name, drain in contenders.items():
            seen[name].append(drain())
    return seen


def _drained(bench_server: BenchServer, contender: Contender) -> Effort:
    count = bench_server.sizes.slow_due if contender.slow else bench_server.sizes.due
    url = _filled(bench_server, contender, count)
    told = contender.run("drain", url=url, count=count)
    assert told["left"] == 0, f"{contender.name}: {told}"
    bench_server.drop(url)
    return Effort(told["seconds"] / count, told["busy"] / count)


def _drained_by_two(bench_server: BenchServer) -> Effort:
    count = bench_server.sizes.due
    url = _filled(bench_server, HORAE, count)
    begin = work.now().timestamp() + _START
    with ExitStack() as stack:
        at_work = [stack.enter_context(child.start(horae_side.share, url=url, begin=begin)) for _ in range(_PROCESSES)]
        told = [each.result() for each in at_work]
    assert child.run(horae_side.recorded, url=url) == count
    bench_server.drop(url)
    elapsed = max(each["ended"] for each in told) - min(each["began"] for each in told)
    return Effort(elapsed / count, sum(each["busy"] for each in told) / count)


def _filled(bench_server: BenchServer, contender: Contender, count: int) -> str:
    url = bench_server.new_database()
    contender.run("enqueue", url=url, count=count)
    bench_server.tidy(url)
    return url
