"""Command line of the benchmark. It measures and reports; a slow machine is no failure."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.against_peers import from_texts, from_values
from bench.agents.family import agents
from bench.api.family import api
from bench.console.family import console
from bench.counting import counting
from bench.counts import FULL, QUICK, Counts
from bench.engine.adding import adding
from bench.engine.backlog import backlog
from bench.engine.crowd import crowd
from bench.engine.lateness import lateness
from bench.engine.neighbour import neighbour
from bench.engine.throughput import throughput
from bench.kinds import next_of_each_kind, weighing
from bench.lists.family import lists
from bench.machine import load, machine
from bench.postgres.family import postgres
from bench.postgres.growth import growth
from bench.reading import loading, reading, refusing
from bench.redis.family import redis
from bench.results import Section
from bench.scale.family import SCALE
from bench.starting import starting
from bench.stations import stations
from bench.table import as_markdown, as_text, summary
from bench.takeover.family import takeover

Benchmark = Callable[[Counts], Iterable[Section]]
GROUPS: Final[Mapping[str, tuple[Benchmark, ...]]] = {
    "schedules": (
        from_values,
        from_texts,
        starting,
        counting,
        reading,
        refusing,
        loading,
        next_of_each_kind,
        weighing,
    ),
    "engine": (throughput, lateness, crowd, adding, backlog, neighbour),
    "lists": (lists,),
    "postgres": (postgres,),
    "redis": (redis,),
    "stations": (stations,),
    "takeover": (takeover,),
    "api": (api,),
    "console": (console,),
    "agents": (agents,),
}
# These take as long as configured, or most of an hour, so they run on request only.
_GROWTH: Final = "postgres-growth"
_SCALE: Final = "scale"
BENCHMARKS: Final = tuple(benchmark for group in GROUPS.values() for benchmark in group)


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    started, load_before = perf_counter(), load()
    chosen = _chosen(given.only, given.minutes)
    sections = measure(chosen, QUICK if given.quick else FULL, quiet=given.markdown)
    facts = machine() | {"load": f"{load_before:.1f} before and {load():.1f} after"}
    if given.markdown:
        print(as_markdown(sections, facts))
    else:
        print("\n".join(f"{name:9} {value}" for name, value in facts.items()))
        print(f"\n{summary(sections)}\n{perf_counter() - started:.0f} s{_warning(load_before)}")
    if given.json:
        told = {"machine": facts, "sections": [section.as_json() for section in sections]}
        Path(given.json).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _chosen(only: str | None, minutes: float) -> tuple[Benchmark, ...]:
    if only == _GROWTH:
        return (partial(growth, minutes=minutes),)
    if only == _SCALE:
        return SCALE
    return GROUPS[only] if only else BENCHMARKS


def measure(benchmarks: Sequence[Benchmark], counts: Counts, *, quiet: bool = False) -> list[Section]:
    """Everything, one after the other; each table is shown as soon as it is there."""
    sections: list[Section] = []
    for benchmark in benchmarks:
        for section in benchmark(counts):
            sections.append(section)
            print(section.title if quiet else as_text(section), file=sys.stderr if quiet else sys.stdout, flush=True)
    return sections


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures Horae beside its peers.")
    parser.add_argument("--quick", action="store_true", help="small counts: a look, not a result")
    parser.add_argument("--only", choices=[*GROUPS, _GROWTH, _SCALE], help="one group of measurements instead of all")
    parser.add_argument("--minutes", type=float, default=60, help=f"how long {_GROWTH} goes on")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to a file as well")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown, for bench/results")
    return parser


def _warning(load_before: float) -> str:
    busy = load_before > (os.cpu_count() or 1) / 2
    return "; other programs kept this machine busy, so take the numbers as a hint" if busy else ""
