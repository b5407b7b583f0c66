"""`python -m bench --only agents`: cost of the host of agents, with the echo mind in bubblewrap on SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final

from bench.agents.host import LIMIT, BenchHost, open_bench
from bench.agents.scale import Sizes
from bench.counts import Counts
from bench.results import Bar, Row, Section, counted
from horae.model.accounts.principal import LOCAL

PARTS: Final = ("idle", "turns", "fairness")
_START_BAR: Final = Bar("under", 100)
_ANSWER_BAR: Final = Bar("under", 3_000)
_NONE: Final = Bar("at most", 0)


def agents(counts: Counts) -> Iterator[Section]:
    for part in PARTS:
        yield measure(part, counts.agents)


def measure(part: str, sizes: Sizes, runtime: str = "bubblewrap") -> Section:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        return asyncio.run(_measure(part, sizes, runtime, Path(folder).resolve()))


async def _measure(part: str, sizes: Sizes, runtime: str, folder: Path) -> Section:
    async with open_bench(folder, runtime) as host:
        match part:
            case "idle":
                return await measure_idle(host, sizes)
            case "turns":
                return await measure_turns(host, sizes)
            case _:
                return await measure_fairness(host, sizes)


async def measure_idle(host: BenchHost, sizes: Sizes) -> Section:
    await host.add_groups("idle", sizes.idle_groups)
    await host.app.clock.pause(sizes.settle_seconds)
    began, used = perf_counter(), process_time()
    await host.app.clock.pause(sizes.idle_seconds)
    share = 100 * (process_time() - used) / (perf_counter() - began)
    row = counted(f"processor time with {sizes.idle_groups} groups", share, "%", Bar("at most", 1))
    return Section("Idle host of agents", (row,))


async def measure_turns(host: BenchHost, sizes: Sizes) -> Section:
    """Measure first messages of groups: each starts an agent."""
    rows: list[Row] = []
    for stored in (0, sizes.stored):
        starts, answers = [], []
        for group in await host.add_groups(f"turn{stored}x", sizes.tries):
            # Nothing wakes the agent before the message that is timed.
            await host.app.service.groups.change(LOCAL, group.folder, requires_trigger=True)
            for first in range(0, stored, 100):
                await host.say(group, *(f"earlier {number}" for number in range(first, min(stored, first + 100))))
            await host.app.clock.pause(0.3)
            began, seen = perf_counter(), len(host.starts)
            await host.say(group, "@Andy please answer")
            await host.until_answered(group, "please answer")
            answers.append(perf_counter() - began)
            starts.append(host.starts[seen][0] - began)
            await host.app.service.groups.change(LOCAL, group.folder, is_stopped=True)
        after = f", {stored:,} messages before" if stored else ""
        rows.append(_milliseconds(f"message to the start of the runtime{after}", starts, _START_BAR))
        rows.append(_milliseconds(f"message to its answer in the chat{after}", answers, _ANSWER_BAR))
    return Section("Message to agent", tuple(rows))


async def measure_fairness(host: BenchHost, sizes: Sizes) -> Section:
    groups = await host.add_groups("busy", sizes.busy_groups)
    began = perf_counter()
    for number in range(sizes.messages):
        for group in groups:
            await host.say(group, f"message {number};")
    for group in groups:
        await host.until_answered(group, f"message {sizes.messages - 1};")
    seconds = perf_counter() - began
    lost = unordered = 0
    for group in groups:
        text = "".join(await host.answers(group))
        places = [text.find(f"message {number};") for number in range(sizes.messages)]
        lost += places.count(-1)
        unordered += places != sorted(places)
    served = [folder for _, folder in host.starts]
    twice = len(groups) - len(set(served[: len(groups)]))
    rows = (
        counted("all answered", seconds, "s"),
        counted("messages lost", lost, "", _NONE),
        counted("groups with messages out of order", unordered, "", _NONE),
        counted("groups served twice before another once", twice, "", _NONE),
        counted("most agents at once", host.most_live, "", Bar("at most", LIMIT)),
    )
    return Section(f"{len(groups)} groups with {sizes.messages} messages each at once", rows)


def _milliseconds(what: str, seconds: list[float], bar: Bar) -> Row:
    return Row(what, 1000 * median(seconds), 1000 * min(seconds), "ms", None, bar)
