"""Time in which the server answers each page on a large store, for an admin and for an owner of half of all tasks."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final

from bench.console.budgets import HTML
from bench.console.filling import fill_postgres
from bench.console.local_console import LocalConsole, find_paths, local_console
from bench.console.scale import Sizes
from bench.engine import child
from bench.engine.samples import Samples, percentile_row
from bench.lists.filling import LARGE_OWNER, fill
from bench.results import Bar, Row, Section, counted
from tests.servers.postgres import PostgresServer

_LIMIT: Final = Bar("under", 80)
_PROCESSOR: Final = "Processor time is that of the API's process with all threads: a busy machine changes it little."
_SETTINGS: Final = {"shared_buffers": "1GB", "max_wal_size": "8GB"}


def rendering(sizes: Sizes) -> Iterator[Section]:
    with _sqlite(sizes) as url:
        yield _section("SQLite", url, sizes)
    if sizes.has_postgres:
        with _postgres(sizes) as url:
            yield _section("PostgreSQL", url, sizes)


@contextmanager
def _sqlite(sizes: Sizes) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "console.db")
        child.run(fill, path=path, tasks=sizes.tasks, runs_each=sizes.runs_each)
        yield f"sqlite:///{path}"


@contextmanager
def _postgres(sizes: Sizes) -> Iterator[str]:
    with PostgresServer(settings=_SETTINGS) as server:
        url = server.new_database()
        child.run(fill_postgres, url=url, tasks=sizes.tasks, runs_each=sizes.runs_each)
        yield url


def _section(store: str, url: str, sizes: Sizes) -> Section:
    told = child.run(render_all, url=url, repetitions=sizes.repetitions)
    rows: list[Row] = []
    for name, seen in told["pages"].items():
        samples = Samples.of([seen["seconds"]])
        rows.append(percentile_row(f"{name}, p50", samples, 0.5))
        rows.append(percentile_row(f"{name}, p95", samples, 0.95, _LIMIT))
        rows.append(percentile_row(f"{name}, processor time p95", Samples.of([seen["processor"]]), 0.95))
        rows.append(counted(f"{name}, compressed", seen["bytes"], "bytes", HTML))
    notes = [f"{sizes.repetitions} requests to each page, one at a time, without a network.", _PROCESSOR]
    if told["missing"]:
        notes.append(f"Not measured, because the store has no id for them: {', '.join(told['missing'])}.")
    title = f"Console: pages at {sizes.tasks:,} tasks and {sizes.tasks * sizes.runs_each:,} runs on {store}"
    return Section(title, tuple(rows), tuple(notes))


def render_all(url: str, repetitions: int) -> dict[str, Any]:
    """Return the seconds and the compressed size of each page by viewer; runs in a process of its own."""
    return asyncio.run(_render_all(url, repetitions))


async def _render_all(url: str, repetitions: int) -> dict[str, Any]:
    pages: dict[str, Any] = {}
    missing: list[str] = []
    async with local_console(url) as console:
        for name, owner in (("admin", None), ("large owner", LARGE_OWNER)):
            cookie = await console.sign_in(owner)
            paths, missing = await find_paths(console.service, owner)
            for route, path in paths.items():
                seen = await _render(console, path, cookie, repetitions)
                if seen is not None:
                    pages[f"{route}, {name}"] = seen
    return {"pages": pages, "missing": missing}


async def _render(console: LocalConsole, path: str, cookie: str, repetitions: int) -> dict[str, Any] | None:
    """Render one page several times; None for one that the viewer may not open. The first time does not count."""
    first = await console.ask(path, cookie)
    # 422: a page that needs a selection, such as the preview of a bulk action.
    if first.status in (303, 403, 404, 422):
        return None
    assert first.status == 200, (path, first.status, first.body[:500])
    seconds, processor = [], []
    for _ in range(repetitions):
        started, spent = perf_counter(), process_time()
        await console.ask(path, cookie)
        seconds.append(perf_counter() - started)
        processor.append(process_time() - spent)
    return {"seconds": seconds, "processor": processor, "bytes": len(gzip.compress(first.body))}
