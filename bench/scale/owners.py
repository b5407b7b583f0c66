"""A backlog of one owner or of thousands: cost of the round robin."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import asyncpg

from bench.counts import Counts
from bench.engine import child, work
from bench.engine.claims import NODE, join
from bench.measure import Timing
from bench.postgres import horae_side
from bench.postgres.loop import run
from bench.results import Row, Section, counted, timed
from bench.scale.curve import matrix, milliseconds, short
from bench.scale.server import started, tidied
from bench.scale.singles import CLAIM, SETTLE, Seconds
from bench.scale.singles import timed as timing
from horae import Horae
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.limits import CLAIM_SLICE
from horae.model.outcome import Settlement, Succeeded
from horae.ports.store import DEFAULT_TERMS
from tests.servers.postgres import PostgresServer

_GIVEN_AWAY: Final = "UPDATE horae.tasks SET owner = 'user:' || seq % $1"
_TOLD_OF: Final = """
UPDATE horae.agenda SET owner = tasks.owner FROM horae.tasks WHERE task = seq;
UPDATE horae.events SET owner = tasks.owner FROM horae.tasks WHERE task_id = id;
DELETE FROM horae.counter_deltas;
DELETE FROM horae.counters;
INSERT INTO horae.counter_deltas SELECT owner, 0, 'state:active', count(*) FROM horae.tasks GROUP BY owner;
"""


def owners(counts: Counts) -> list[Section]:
    sizes = counts.scale
    rows: list[Row] = []
    lines = []
    with started() as server:
        for many in sizes.owners:
            seen = child.run(slice_by_slice, url=_backlog(server, many, sizes.backlog))
            drained = child.run(horae_side.drain, url=_backlog(server, many, sizes.backlog), count=sizes.backlog)
            assert drained["left"] == 0
            rate = sizes.backlog / drained["seconds"]
            rows += [
                counted(f"{many:,} owners, through one engine", rate, "/s"),
                *(timed(f"{many:,} owners, {what}", Timing(tuple(seen[what])), "ms") for what in (CLAIM, SETTLE)),
            ]
            slices = [milliseconds(seen[what], 0.5, 0.99) for what in (CLAIM, SETTLE)]
            lines.append((f"{many:,}", short(rate), *slices, f"{sizes.backlog / max(len(seen[CLAIM]), 1):.0f}"))
    head = ("owners", "through one engine, /s", "claim of a slice, ms", "settling it, ms", "tasks in a slice")
    notes = (
        f"{sizes.backlog:,} one-time tasks, all due, shared equally. A slice is at most {CLAIM_SLICE}.",
        matrix(head, lines),
    )
    return [Section("PostgreSQL: owners with a backlog", tuple(rows), notes)]


def slice_by_slice(url: str) -> Seconds:
    """Without an engine: claim and settle in turns, until nothing is left."""
    return run(_slice_by_slice(url))


def share_out(url: str, many: int) -> None:
    """What was added for one owner becomes the property of many, as if each had added its own."""
    run(_share_out(url, many))


def _backlog(server: PostgresServer, many: int, count: int) -> str:
    url = server.new_database()
    child.run(horae_side.enqueue, url=url, count=count)
    child.run(share_out, url=url, many=many)
    return url


async def _share_out(url: str, many: int) -> None:
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    try:
        await connection.execute(_GIVEN_AWAY, many)
        await connection.execute(_TOLD_OF)
    finally:
        await connection.close()
    await tidied(url)


async def _slice_by_slice(url: str) -> Seconds:
    seen: Seconds = {CLAIM: [], SETTLE: []}
    async with Horae(url, engine=False) as app:
        await join(app)
        while await app.store.next_due() is not None:
            now = work.now()
            decide = partial(fire, claim=ClaimContext(NODE, now, DEFAULT_TERMS.poll_ceiling))
            claim = await timing(seen[CLAIM], app.store.claim_due(now, NODE, CLAIM_SLICE, decide))
            ended = work.now()
            reports = [Settlement(each.run.id, each.run.token, Succeeded(), now, ended) for each in claim.runs]
            assert reports
            await timing(seen[SETTLE], app.store.settle(reports, settle))
        await app.store.leave(NODE)
    return seen
