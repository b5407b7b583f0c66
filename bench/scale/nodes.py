"""One, two and four nodes on one database: joint throughput and lateness."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from bench.counts import Counts
from bench.engine import child, work
from bench.engine.samples import percentile
from bench.postgres import horae_side
from bench.results import Row, Section, counted
from bench.scale import steps
from bench.scale.curve import matrix, milliseconds, short
from bench.scale.prepared import prepared
from bench.scale.server import processor_seconds, started
from bench.scale.sizes import Sizes
from tests.servers.postgres import PostgresServer

_START: Final = 2.0  # seconds: enough for each process to be there


def nodes(counts: Counts) -> list[Section]:
    sizes = counts.scale
    rows: list[Row] = []
    lines = []
    with started() as server:
        for many in sizes.nodes:
            shared = _shared(server, sizes, many)
            late, begun = _late(server, sizes, many)
            rows.append(counted(f"{many} nodes, a backlog", shared["rate"], "/s"))
            rows.append(counted(f"{many} nodes, lateness p99", percentile(late, 0.99) * 1e3, "ms"))
            efforts = (f"{shared[who] * 1e6:,.0f}" for who in ("node", "server"))
            shares = " / ".join(f"{100 * each / max(sum(begun), 1):.0f}" for each in begun)
            lines.append((str(many), short(shared["rate"]), *efforts, milliseconds(late, 0.5, 0.99, 1.0), shares))
    rate = f"late at {sizes.shared_rate:,}/s, ms, p50 / p99 / worst"
    head = ("nodes", "a backlog, /s", "µs of the nodes", "µs of the server", rate, "share of starts, %")
    notes = (
        f"A backlog of {sizes.backlog:,}; then {sizes.shared_rate:,} fires a second, for {sizes.step_seconds:g} s.",
        matrix(head, lines),
    )
    return [Section("PostgreSQL: nodes on one database", tuple(rows), notes)]


def _shared(server: PostgresServer, sizes: Sizes, many: int) -> dict[str, float]:
    count, url = sizes.backlog, server.new_database()
    child.run(horae_side.enqueue, url=url, count=count)
    begin = work.now().timestamp() + _START
    with ExitStack() as stack:
        at_work = [stack.enter_context(child.start(horae_side.share, url=url, begin=begin)) for _ in range(many)]
        before = processor_seconds(server.pid)
        told = [each.result() for each in at_work]
        served = processor_seconds(server.pid) - before
    assert child.run(horae_side.recorded, url=url) == count
    server.drop_database(url)
    seconds = max(each["ended"] for each in told) - min(each["began"] for each in told)
    return {
        "rate": count / seconds,
        "node": sum(each["busy"] for each in told) / count,
        "server": served / count,
    }


def _late(server: PostgresServer, sizes: Sizes, many: int) -> tuple[list[float], list[int]]:
    """How late everything was, and how much of it each node began."""
    rate, seconds = sizes.shared_rate, sizes.step_seconds
    count = max(round(rate * seconds), 1)
    url, first = prepared(server, steps.add_once, rate, count, sizes.lead + many)
    wanted: dict[str, Any] = {"url": url, "first": first, "last": first + seconds, "server": server.pid}
    with ExitStack() as stack:
        at_work = [stack.enter_context(child.start(steps.carry, **wanted)) for _ in range(many)]
        told = [each.result()["late"] for each in at_work]
    server.drop_database(url)
    return [each for late in told for each in late], [len(late) for late in told]
