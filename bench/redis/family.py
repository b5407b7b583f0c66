"""`python -m bench --only redis`: Horae and its peers on one Redis that syncs every write (`appendfsync always`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Final

from bench.counts import Counts
from bench.engine import child
from bench.engine.samples import Samples, usual_rows
from bench.engine.steady_rate import early
from bench.engine.throughput import Effort
from bench.measure import Timing
from bench.postgres import horae_side
from bench.postgres.bench_server import HORAE
from bench.postgres.contender import Contender
from bench.postgres.peers import Found, install
from bench.postgres.scale import Sizes
from bench.redis import turns
from bench.redis.commands import count_commands
from bench.redis.peers import BULLMQ, RECIPES, TASKIQ
from bench.results import Bar, Row, Section, counted, timed, times_faster
from horae.clock import SystemClock
from tests.servers.redis import RedisServer

# Tasks a second, and how much later than a bare script the slowest hundredth may be, in milliseconds.
_RATES: Final = ((100, 5), (1_000, 15))
_BARS: Final = {BULLMQ: Bar("at least", 1), TASKIQ: Bar("at least", 5)}
_CLOCK: Final = SystemClock()
_IDLE_COMMANDS: Final = Bar("at most", 0.4)
_SETTLED_SECONDS: Final = 10.0
"""From the start of a node until it is idle; not counted."""


def redis(counts: Counts) -> Iterator[Section]:
    """Sections one by one: results are printed even if a later one fails."""
    sizes = counts.postgres
    found = install(RECIPES) if sizes.peers else Found((), ())
    with RedisServer() as server:
        yield replace(_throughput(server, sizes, found), notes=_notes(server, sizes, found))
        for rate, margin in _RATES:
            yield _lateness(server, sizes, found, rate, margin)
        yield _idle(server, sizes)


def _notes(server: RedisServer, sizes: Sizes, found: Found) -> tuple[str, ...]:
    versions = ", ".join(f"{peer.name} {peer.version}" for peer in found.peers)
    settings = " ".join(server.ask("CONFIG", "GET", "append*sync").split())
    version = server.ask("INFO", "server").partition("redis_version:")[2].split()[0]
    return (
        f"{sizes.due:,} tasks, {sizes.slow_due:,} for taskiq. Redis {version}, {settings}, for all. {versions}".strip(),
        "Horae's time ends when all is in the ledger, that of BullMQ when all jobs are completed and kept, that of taskiq when all",
        "results are there.",
        *found.missing,
    )


def _throughput(server: RedisServer, sizes: Sizes, found: Found) -> Section:
    contenders = (HORAE, *found.peers)
    seen: dict[str, list[Effort]] = {each.name: [] for each in contenders}
    for _ in range(sizes.rounds):
        for each in contenders:
            seen[each.name].append(_drained(server, each, sizes.slow_due if each.slow else sizes.due))
    elapsed = {name: Timing(tuple(effort.elapsed for effort in efforts)) for name, efforts in seen.items()}
    rows = [Row(name, 1 / timing.median, 1 / timing.best, "/s", timing.spread) for name, timing in elapsed.items()]
    rows += [
        timed(f"{name}, processor time", Timing(tuple(effort.busy for effort in efforts)), "µs")
        for name, efforts in seen.items()
    ]
    ours = elapsed[HORAE.name]
    rows += [
        times_faster(f"Horae, against {each.name}", ours, elapsed[each.name], _BARS[each.name]) for each in found.peers
    ]
    return Section("Redis: due one-time tasks, with their history", tuple(rows))


def _drained(server: RedisServer, contender: Contender, count: int) -> Effort:
    url = server.new_database()
    contender.run("enqueue", url=url, count=count)
    told = contender.run("drain", url=url, count=count)
    assert told["left"] == 0, f"{contender.name}: {told}"
    server.drop_database(url)
    return Effort(told["seconds"] / count, told["busy"] / count)


def _lateness(server: RedisServer, sizes: Sizes, found: Found, rate: int, margin: float) -> Section:
    url, bare_url = server.new_database(), server.new_database()
    seen = child.run(turns.take_turns, url=url, bare=bare_url, rate=rate, sizes=asdict(sizes))
    bare, ours = Samples.of(seen["bare"]), Samples.of(seen["ours"])
    rows = [
        *usual_rows("a bare script", bare),
        *usual_rows("a bare script after a pause", Samples.of(seen["paced"])),
        *usual_rows("Horae, lateness", ours, Bar("at most", bare.percentile(0.99) * 1e3 + margin)),
        early(ours),
    ]
    for peer in found.peers:
        # taskiq needs a scheduler beside its worker, which looks once a second.
        if not peer.slow:
            seconds = sizes.peer_seconds if rate == _RATES[0][0] else sizes.busy_peer_seconds
            late = peer.run("punctual", url=server.new_database(), rate=rate, seconds=seconds, lead=sizes.lead)
            rows += usual_rows(f"{peer.name}, lateness", Samples.of([late]))
    notes = (
        f"{len(ours.all):,} tasks in {len(ours.blocks)} blocks that take turns with EVALSHA of one write, which is synced.",
        f"Target: the p99 of a bare script and {margin} ms more.",
    )
    return Section(f"Redis: lateness at {rate:,} tasks a second", tuple(rows), notes)


def _idle(server: RedisServer, sizes: Sizes) -> Section:
    url, count = server.new_database(), sizes.handful
    child.run(horae_side.crowd, url=url, count=count)
    ready = min(_SETTLED_SECONDS, sizes.idle_seconds)
    with child.start(horae_side.rest, url=url, seconds=ready + sizes.idle_seconds + 1) as node:
        _CLOCK.sleep(ready)
        commands = count_commands(server, lambda: _CLOCK.sleep(sizes.idle_seconds))
        node.result()
    row = counted("commands of clients per second", commands / sizes.idle_seconds, "/s", _IDLE_COMMANDS)
    notes = (f"One node, {count:,} tasks that are due in a year and later, {sizes.idle_seconds:g} s.",)
    return Section("Redis: an idle node", (row,), notes)
