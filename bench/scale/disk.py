"""Disk space of one task and one run, written by the library and its engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from bench.counts import Counts
from bench.engine import child
from bench.postgres import horae_side
from bench.results import Section, counted
from bench.scale.curve import matrix, short
from bench.scale.server import Spent, Table, started, tables, tidied
from tests.servers.postgres import PostgresServer

_WORTH_TELLING: Final = 10
_ROOM_ONLY: Final = frozenset({"agenda", "live_runs", "counter_deltas"})
"""What leaves them leaves room for the next: they grow with what goes on at once, not with what has been."""


def disk(counts: Counts) -> list[Section]:
    many = counts.scale.written
    with started() as server:
        url = server.new_database()
        before = Spent.by(server)
        child.run(horae_side.enqueue, url=url, count=many)
        adding = Spent.by(server).since(before)
        added = _seen(server, url)
        before = Spent.by(server)
        told = child.run(horae_side.drain, url=url, count=many)
        assert told["left"] == 0
        running = Spent.by(server).since(before)
        done = _seen(server, url)
    of_task = sum(table.size for table in added.values()) / many
    of_run = sum(done[name].size - added[name].size for name in done if name not in _ROOM_ONLY) / many
    rows = (
        counted("a future task", of_task, "bytes"),
        counted("an ended run, with its events", of_run, "bytes"),
        counted("logged for a task that is added", adding.logged / many, "bytes"),
        counted("logged for a run, claimed and settled", running.logged / many, "bytes"),
    )
    notes = (
        f"{many:,} one-time tasks with a small payload, added by `schedule_many`, then run by one engine.",
        "Log is what a standby or an archive is sent; it is thrown away after a checkpoint.",
        matrix(("bytes each", "future task", "ended run"), _lines(added, done, many)),
    )
    return [Section("PostgreSQL: what is on the disk", rows, notes)]


def _seen(server: PostgresServer, url: str) -> Mapping[str, Table]:
    asyncio.run(tidied(url))
    return {table.name: table for table in tables(server, url)}


def _lines(added: Mapping[str, Table], done: Mapping[str, Table], many: int) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, table in added.items():
        of_task, of_run = table.size / many, (done[name].size - table.size) / many
        if of_task + abs(of_run) >= _WORTH_TELLING:
            found.append((name, short(of_task), "room only" if name in _ROOM_ONLY else short(of_run)))
    return found
