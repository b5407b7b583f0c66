"""`python -m bench --only lists`: cost of reads on small and large files, and the query plans of SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bench.counts import Counts
from bench.engine import child
from bench.engine.samples import percentile
from bench.lists.asking import ask_all
from bench.lists.commands import start_all
from bench.lists.filling import fill
from bench.lists.plans import plans
from bench.lists.scale import Sizes
from bench.measure import Timing, spread
from bench.results import Bar, Row, Section, counted, timed
from bench.starting import interpreter_environment

_GROWTH: Final = Bar("at most", 3)
_COMMAND_BARS: Final = {"horae --help": Bar("under", 300), "horae ls": Bar("under", 500)}


class File(NamedTuple):
    tasks: int
    runs: int
    path: str
    megabytes: float

    @property
    def name(self) -> str:
        return f"{self.tasks:,} tasks"


def lists(counts: Counts) -> list[Section]:
    sizes = counts.lists
    with TemporaryDirectory() as folder:
        files = [_filled(folder, tasks, sizes) for tasks in sizes.tasks]
        paths = [each.path for each in files]
        told = child.run(ask_all, paths=paths, repetitions=sizes.repetitions, cold=sizes.cold)
        commands = start_all(paths, interpreter_environment(Path(folder)), sizes.processes)
        found = child.run(plans, path=files[-1].path)
    return [
        *(_answers(file, each) for file, each in zip(files, told, strict=True)),
        _growth(files, told),
        _commands(files, commands),
        _plans(found),
    ]


def _filled(folder: str, tasks: int, sizes: Sizes) -> File:
    path = str(Path(folder) / f"{tasks}.db")
    size = child.run(fill, path=path, tasks=tasks, runs_each=sizes.runs_each)
    return File(tasks, tasks * sizes.runs_each, path, size / 1e6)


def _answers(file: File, told: Mapping[str, Mapping[str, Sequence[float]]]) -> Section:
    rows: list[Row] = []
    for question, seconds in told["warm"].items():
        rows.append(timed(question, Timing(tuple(seconds)), "ms"))
        rows.append(_single(f"{question}, p99", seconds, lambda each: percentile(each, 0.99)))
        rows.append(timed(f"{question}, cold", Timing(tuple(told["cold"][question])), "ms"))
    note = f"The file has {file.megabytes:,.0f} MB. Cold: the first question to a store that was just opened, from the disk."
    return Section(f"Looking at {file.name} and {file.runs:,} runs", tuple(rows), (note,))


def _single(what: str, seconds: Sequence[float], measure: Callable[[Sequence[float]], float]) -> Row:
    return counted(what, measure(seconds) * 1e3, "ms")


def _growth(files: Sequence[File], told: Sequence[Mapping[str, Any]]) -> Section:
    rows = []
    for question in told[0]["warm"]:
        small, large = (Timing(tuple(each["warm"][question])) for each in (told[0], told[-1]))
        ratios = [big / little for little, big in zip(small.rounds, large.rounds, strict=True)]
        row = Row(question, large.median / small.median, large.best / small.best, "x", spread(ratios), _GROWTH)
        rows.append(row)
    return Section(f"From {files[0].name} to {files[-1].name}", tuple(rows))


def _commands(files: Sequence[File], commands: Mapping[str, Sequence[Sequence[float]]]) -> Section:
    rows: list[Row] = []
    for name, seen in commands.items():
        for file, seconds in zip(files, seen, strict=True):
            bar = _COMMAND_BARS.get(name) if file is files[-1] else None
            rows.append(timed(f"{name}, {file.name}", Timing(tuple(seconds)), "ms", bar))
        rows.append(_single(f"{name}, {files[-1].name}, p99", seen[-1], lambda each: percentile(each, 0.99)))
    return Section("Commands, whole process", tuple(rows))


def _plans(found: Mapping[str, Sequence[str]]) -> Section:
    """A scan by an index that ends with the page is no harm; one without an index always is."""
    bare = [name for name, steps in found.items() if any(_is_bare(step) for step in steps)]
    rows = (counted("statements", len(found)), counted("statements that read a whole table", len(bare)))
    notes = tuple(f"`{name}`: {'; '.join(steps)}" for name, steps in found.items())
    return Section("Query plans on the largest file", rows, notes)


def _is_bare(step: str) -> bool:
    small = (
        "json_each",
        "carray",
        "VIRTUAL TABLE",
        "CONSTANT",
        "nodes",
        "lanes",
        "lane_slots",
        "named",
        "wanted",
        "label",
        "(",
    )
    return step.startswith("SCAN") and "INDEX" not in step and not any(name in step for name in small)
