"""Requests per second by number of connections, and lateness of the engine meanwhile."""

from __future__ import annotations

import statistics
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench.api.deployment import Deployment, deployed, tick
from bench.api.load import CLIENT, KINDS, Load, prepare, press
from bench.api.scale import Sizes
from bench.engine.samples import percentile
from bench.measure import spread
from bench.results import Bar, Row, Section, counted
from horae.clock import SystemClock
from horae.node.event_loop import run_fast

# Requests a second, on the largest number of connections.
_BARS: Final = {"create": 1_800, "get": 5_000, "list": 1_200}
_NAMES: Final = {"create": "create a task", "get": "get one", "list": "list of 50"}
_LATENESS: Final = Bar("at most", 25)
_CLOCK: Final = SystemClock()


class Turn(NamedTuple):
    load: Load
    late: tuple[float, ...]
    """Seconds, of what was due meanwhile."""
    spent: float
    """Seconds of processor time that the API took for one request."""


def requests(sizes: Sizes) -> list[Section]:
    with TemporaryDirectory() as folder, deployed(Path(folder)) as deployment:
        prepare(deployment, deployment.member("ada"), sizes.known)
        tick(deployment, sizes.ticking)
        quiet = [_quietly(deployment, sizes.seconds)]
        steps = [(kind, many) for kind in KINDS for many in sizes.connections]
        turns: dict[tuple[str, int], list[Turn]] = {step: [] for step in steps}
        for number in range(sizes.rounds):
            for place, (kind, many) in enumerate(steps):
                turns[kind, many].append(_turn(deployment, kind, many, sizes.seconds, number * len(steps) + place))
            quiet.append(_quietly(deployment, sizes.seconds))
    sections = [_section(kind, {many: turns[kind, many] for many in sizes.connections}) for kind in KINDS]
    return [*sections, _lateness(quiet, turns, sizes)]


def _turn(deployment: Deployment, kind: str, connections: int, seconds: int, number: int) -> Turn:
    began, before = _CLOCK.now(), deployment.api_seconds
    load = press(deployment, kind, connections, seconds, number)
    spent = deployment.api_seconds - before
    return Turn(load, _late(deployment, began), spent / max(load.requests, 1))


def _quietly(deployment: Deployment, seconds: float) -> tuple[float, ...]:
    began = _CLOCK.now()
    run_fast(_CLOCK.pause(seconds))
    return _late(deployment, began)


def _late(deployment: Deployment, began: datetime) -> tuple[float, ...]:
    ended = _CLOCK.now()
    # What was due at the very end may begin a little later.
    run_fast(_CLOCK.pause(0.5))
    return tuple(deployment.lateness(began, ended))


def _section(kind: str, turns: dict[int, list[Turn]]) -> Section:
    largest = max(turns)
    rows: list[Row] = []
    for many, each in turns.items():
        rates = [turn.load.rate for turn in each]
        bar = Bar("at least", _BARS[kind]) if many == largest else None
        what = f"{many} connections" if many > 1 else "1 connection"
        rows += [
            Row(what, statistics.median(rates), max(rates), "/s", spread(rates), bar),
            _times(f"{what}, p50", [turn.load.p50 for turn in each]),
            _times(f"{what}, p99", [turn.load.p99 for turn in each]),
            _times(f"{what}, processor time of the API for each", [turn.spent for turn in each]),
        ]
    loads = [turn.load for each in turns.values() for turn in each]
    wrong = sum(load.refused + load.broken for load in loads)
    rows.append(counted("refused, or never answered", wrong, bar=Bar("at most", 0)))
    asked = sum(load.requests for load in loads)
    return Section(f"API: {_NAMES[kind]}", tuple(rows), (f"{asked:,} requests in all, sent by {CLIENT}.",))


def _times(what: str, seconds: list[float]) -> Row:
    return Row(what, statistics.median(seconds) * 1e3, min(seconds) * 1e3, "ms", spread(seconds))


def _lateness(quiet: list[tuple[float, ...]], turns: dict[tuple[str, int], list[Turn]], sizes: Sizes) -> Section:
    rows = [_late_row("no requests", quiet, None)]
    for (kind, many), each in turns.items():
        rows.append(_late_row(f"{_NAMES[kind]}, {many} at once", [turn.late for turn in each], _LATENESS))
    notes = (
        f"{sizes.ticking} tasks a second, one after the other; SQLite; `horae up`: worker and API in two processes.",
        "The requests are those of a member with wide quotas; half of the creates have an Idempotency-Key.",
    )
    return Section("API: lateness p99 of the engine meanwhile", tuple(rows), notes)


def _late_row(what: str, blocks: list[tuple[float, ...]], bar: Bar | None) -> Row:
    together = [late for block in blocks for late in block]
    p99s = [percentile(block, 0.99) for block in blocks if block]
    return Row(what, percentile(together, 0.99) * 1e3, min(p99s) * 1e3, "ms", spread(p99s), bar)
