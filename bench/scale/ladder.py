"""Rising fires per second on one node until it cannot keep up, and the busy component then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from bench.counts import Counts
from bench.engine import child
from bench.engine.samples import percentile
from bench.results import Row, Section, counted
from bench.scale import steps
from bench.scale.curve import matrix, milliseconds, short
from bench.scale.prepared import prepared
from bench.scale.server import Spent, started
from bench.scale.sizes import Sizes
from tests.servers.postgres import PostgresServer

BROKEN: Final = 1.0
"""Seconds of lateness, p99: from here on a queue grows, and what is measured is how long it was measured."""


class Step(NamedTuple):
    rate: int
    late: Sequence[float]
    missing: int
    """Not begun when the last was over."""
    cores: tuple[float, ...]
    """Processors that the node and the server kept busy."""
    effort: tuple[float, ...]
    """Seconds of processors for each fire."""
    logged: float
    """Bytes for each fire."""

    @property
    def holds(self) -> bool:
        return not self.missing and percentile(self.late, 0.99) < BROKEN


def ladder(counts: Counts) -> Iterator[Section]:
    sizes = counts.scale
    with started() as server:
        yield _climbed(server, sizes, "one-time tasks", steps.add_once)
        yield _climbed(server, sizes, f"tasks every {steps.ROUND.seconds} s", steps.add_again_and_again)


def _climbed(server: PostgresServer, sizes: Sizes, what: str, add: Callable[..., float]) -> Section:
    taken: list[Step] = []
    for rate in sizes.rates:
        taken.append(_step(server, sizes, rate, add))
        if not taken[-1].holds:
            break
    held = [step for step in taken if step.holds]
    rows: list[Row] = [
        counted("kept up with", held[-1].rate if held else 0, "/s"),
        *(counted(f"lateness p99 at {step.rate:,}", percentile(step.late, 0.99) * 1e3, "ms") for step in taken),
    ]
    head = (
        "fires/s",
        "late, ms, p50 / p99 / worst",
        "node, cores",
        "server, cores",
        "µs node / server",
        "log, kB a fire",
    )
    notes = (
        f"{sizes.step_seconds:g} s at each rate, on an empty database. Both share {os.cpu_count()} cores.",
        f"It ends where the p99 is {BROKEN:g} s, or something had not begun a little after the last was due.",
        matrix(head, [_line(step) for step in taken]),
    )
    return Section(f"PostgreSQL: fires a second on one node, {what}", tuple(rows), notes)


def _step(server: PostgresServer, sizes: Sizes, rate: int, add: Callable[..., float]) -> Step:
    seconds = sizes.step_seconds
    many = max(round(rate * seconds), 1)
    url, first = prepared(server, add, rate, many, sizes.lead)
    before = Spent.by(server)
    told: dict[str, Any] = child.run(steps.carry, url=url, first=first, last=first + seconds, server=server.pid)
    logged = Spent.by(server).since(before).logged
    server.drop_database(url)
    late, used = told["late"], (told["busy"], told["served"])
    cores, effort = (tuple(each / by for each in used) for by in (seconds, max(told["begun"], 1)))
    # What comes again every ten seconds may have begun once more than was asked for.
    return Step(rate, late, max(many - len(late), 0), cores, effort, logged / many)


def _line(step: Step) -> tuple[str, ...]:
    node, server = step.effort
    return (
        f"{step.rate:,}",
        milliseconds(step.late, 0.5, 0.99, 1.0) + (f", {step.missing:,} not begun" if step.missing else ""),
        f"{step.cores[0]:.2f}",
        f"{step.cores[1]:.2f}",
        f"{node * 1e6:,.0f} / {server * 1e6:,.0f}",
        short(step.logged / 1e3),
    )
