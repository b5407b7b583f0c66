"""Time in which the server answers each page on a large store, for an admin and for an owner of half of all tasks."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final

import asyncpg

from bench.console.addresses import Address, find_addresses
from bench.console.budgets import HTML
from bench.console.filling import copy_to_postgres
from bench.console.history import fill_sqlite
from bench.console.local_console import LocalConsole, find_values, local_console
from bench.console.scale import Sizes
from bench.engine import child
from bench.engine.samples import percentile
from bench.lists.filling import LARGE_OWNER
from bench.machine import load
from bench.results import Bar, Row, Section, counted
from horae.app.garbage_collection import interpreter_tuning
from tests.servers.postgres import PostgresServer

_LIMIT: Final = Bar("under", 80)
_PROCESSOR: Final = (
    "Processor time is the mean of the API's process with all threads, and for PostgreSQL of its server too: a busy machine"
    " changes it less than the time that passes."
)
_DOWNLOADS: Final = "Of downloads, the time to the first bytes counts."
_SETTINGS: Final = {"shared_buffers": "1GB", "max_wal_size": "8GB"}
_NOT_OPENED: Final = (303, 403, 404, 422)
"""Answers to a viewer who may not open a page, and of a page that needs a selection."""


def rendering(sizes: Sizes) -> Iterator[Section]:
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "console.db")
        runs: int = child.run(fill_sqlite, path=path, tasks=sizes.tasks, runs_each=sizes.runs_each)
        yield measure_store("SQLite", f"sqlite:///{path}", sizes, runs)
        if sizes.has_postgres:
            with _postgres(path) as url:
                yield measure_store("PostgreSQL", url, sizes, runs)


@contextmanager
def _postgres(path: str) -> Iterator[str]:
    with PostgresServer(settings=_SETTINGS) as server:
        url = server.new_database()
        child.run(copy_to_postgres, path=path, url=url)
        yield url


def measure_store(store: str, url: str, sizes: Sizes, runs: int) -> Section:
    load_before = load()
    measured = child.run(render_all, url=url, repetitions=sizes.repetitions)
    rows = [_row(name, seen) for name, seen in measured["pages"].items()]
    largest = max(measured["pages"], key=lambda name: measured["pages"][name]["bytes"])
    rows.append(counted(f"largest page, compressed: {largest}", measured["pages"][largest]["bytes"], "bytes", HTML))
    notes = [
        f"{sizes.repetitions} requests to each page, one at a time, without a network; the first one does not count.",
        f"Load of the machine: {load_before:.1f} before and {load():.1f} after. {_PROCESSOR} {_DOWNLOADS}",
    ]
    if measured["missing"]:
        notes.append(f"Not measured, because the store has no id for them: {', '.join(measured['missing'])}.")
    return Section(
        f"Console: p95 of pages at {sizes.tasks:,} tasks and {runs:,} runs on {store}", tuple(rows), tuple(notes)
    )


def _row(name: str, seen: dict[str, Any]) -> Row:
    processor = f"{1e3 * mean(seen['processor']):.0f}"
    if seen["database"] is not None:
        processor += f" + {1e3 * seen['database']:.0f}"
    what = f"{name}: p50 {1e3 * percentile(seen['seconds'], 0.5):.0f} ms, processor {processor} ms"
    return counted(what, 1e3 * percentile(seen["seconds"], 0.95), "ms", _LIMIT)


def render_all(url: str, repetitions: int) -> dict[str, Any]:
    """Return the seconds and the compressed size of each page by viewer; runs in a process of its own."""
    # As in the process of the API.
    interpreter_tuning.acquire()
    return asyncio.run(_render_all(url, repetitions))


async def _render_all(url: str, repetitions: int) -> dict[str, Any]:
    pages: dict[str, Any] = {}
    missing: list[str] = []
    async with local_console(url) as console:
        interpreter_tuning.dedicate_process()
        for name, owner in (("admin", None), ("member", LARGE_OWNER)):
            cookie = await console.sign_in(owner)
            addresses, missing = await find_addresses(console, cookie, await find_values(console, owner))
            for address in addresses:
                seen = await _render(console, url, address, cookie, repetitions)
                if seen is not None:
                    pages[f"`{address.name}`, {name}"] = seen
    return {"pages": pages, "missing": missing}


async def _render(
    console: LocalConsole, url: str, address: Address, cookie: str, repetitions: int
) -> dict[str, Any] | None:
    """Render one page several times; None for one that the viewer may not open."""
    first = await console.ask(address.path, cookie, is_cut=address.is_download)
    if first.status in _NOT_OPENED:
        return None
    assert first.status == 200, (address.path, first.status, first.body[:500])
    seconds, processor = [], []
    database_before = await _database_seconds(url)
    for _ in range(repetitions):
        started, spent = perf_counter(), process_time()
        await console.ask(address.path, cookie, is_cut=address.is_download)
        seconds.append(perf_counter() - started)
        processor.append(process_time() - spent)
    database_after = await _database_seconds(url)
    return {
        "seconds": seconds,
        "processor": processor,
        "database": None if database_before is None else max(0.0, database_after - database_before) / repetitions,
        "bytes": 0 if address.is_download else len(gzip.compress(first.body)),
    }


async def _database_seconds(url: str) -> Any:
    """Return the processor time of the server's processes for this console; None for a file."""
    if not url.startswith("postgresql"):
        return None
    connection: asyncpg.Connection[Any] = await asyncpg.connect(url)
    try:
        asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'horae' AND datname = current_database()"
        processes = [int(process) for (process,) in await connection.fetch(asked)]
    finally:
        await connection.close()
    files = (Path(f"/proc/{process}/schedstat") for process in processes)
    return sum(int(file.read_text(encoding="ascii").split()[0]) for file in files if file.exists()) / 1e9
