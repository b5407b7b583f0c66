"""`python -m bench.events [READERS] [TASKS] [SECONDS]`: an engine under load with and without event readers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.engine.child import start
from bench.engine.samples import percentile
from bench.events.engine import fire
from bench.events.readers import listening
from bench.machine import load, machine
from bench.results import Bar, Section, counted
from bench.table import as_text
from horae.node.event_loop import run_fast

_HOME: Final = Path(__file__).resolve().parents[2]
_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "worst": 1.0}
_READERS: Final = 1_000
_TASKS: Final = 2
_SECONDS: Final = 20.0


@contextmanager
def server(url: str) -> Iterator[dict[str, str]]:
    command = [sys.executable, "-m", "bench.events.server", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_HOME) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(30)


async def heard_of(url: str, readers: int, tasks: int, seconds: float) -> tuple[list[float], list[float]]:
    """How long after it happened each reader heard of it; and how late the runs began meanwhile."""
    loop = asyncio.get_running_loop()
    with server(url) as there:
        async with listening(there["base"], there["token"], readers) as heard:
            with start(fire, url=url, tasks=tasks, seconds=seconds) as child:
                late = await loop.run_in_executor(None, child.result)
            return list(heard), late


def section(readers: int, tasks: int, seconds: float) -> Section:
    with TemporaryDirectory() as folder:
        alone = run_fast(heard_of(f"sqlite:///{folder}/alone.db", 1, tasks, seconds))[1]
        heard, late = run_fast(heard_of(f"sqlite:///{folder}/horae.db", readers, tasks, seconds))
    rows = [
        counted(f"event arrives after, {name}", percentile(heard, share) * 1_000, "ms", _bar(name))
        for name, share in _SHARES.items()
    ]
    rows += [
        counted(f"lateness, {name}, {audience}", percentile(values, _SHARES[name]) * 1_000, "ms")
        for name in ("p50", "p99")
        for audience, values in (("one reader", alone), (f"{readers} readers", late))
    ]
    rows.append(counted("heard in all", len(heard), ""))
    note = f"{tasks} tasks a second, {seconds:g} s, SQLite; API, engine and readers in three processes on one machine."
    return Section(f"{readers} readers of events", tuple(rows), (note, f"load {load():.1f}, {machine()['system']}"))


def _bar(name: str) -> Bar | None:
    return Bar("at most", 200) if name == "p99" else None


if __name__ == "__main__":
    said = sys.argv[1:]
    chosen = (
        int(said[0]) if said else _READERS,
        int(said[1]) if len(said) > 1 else _TASKS,
        float(said[2]) if len(said) > 2 else _SECONDS,
    )
    print(as_text(section(*chosen)))
