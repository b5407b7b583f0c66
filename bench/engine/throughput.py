"""A backlog of due one-time tasks, from the start of the engine until all are done and recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from bench.counts import Counts
from bench.engine import child, horae_side, peer_apscheduler, peer_huey
from bench.measure import Timing
from bench.results import Bar, Row, Section, timed, times_faster

_HORAE: Final = "Horae"
_FIFTEEN, _FIVE = Bar("at least", 15), Bar("at least", 5)
_BARS: Final = {
    "APScheduler, on a loop, write-ahead log": _FIFTEEN,
    "APScheduler, in threads, write-ahead log": _FIFTEEN,
    "APScheduler, in threads, default journal": _FIFTEEN,
    "Huey, one thread, keeps nothing": _FIVE,
    "Huey, one thread, keeps results": _FIVE,
    "Huey, four threads, keeps results": _FIVE,
}
_NOTES: Final = (
    "Horae's time ends when its engine has stopped and all is in the ledger, a peer's with its last call.",
    "All contenders commit with synchronous=FULL. The files lie in the folder for temporary files (TMPDIR).",
    "The aim is 30,000 a second.",
)


class Effort(NamedTuple):
    """Seconds for one task: by the clock, and of a processor."""

    elapsed: float
    busy: float


def throughput(counts: Counts) -> list[Section]:
    scale = counts.engine
    seen = _take_turns(_contenders(scale.due, scale.peers_due), scale.rounds)
    elapsed = {name: Timing(tuple(effort.elapsed for effort in efforts)) for name, efforts in seen.items()}
    ours = elapsed[_HORAE]
    rows = [_rate(name, timing) for name, timing in elapsed.items()]
    rows += [_busy(name, efforts) for name, efforts in seen.items()]
    rows += [times_faster(f"Horae, against {name}", ours, elapsed[name], bar) for name, bar in _BARS.items()]
    title = f"Due one-time tasks: {scale.due:,} for Horae, {scale.peers_due:,} for each peer"
    return [Section(title, tuple(rows), _NOTES)]


def _contenders(ours: int, theirs: int) -> Mapping[str, Callable[[], Effort]]:
    drains: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = (
        (peer_apscheduler.drain, {}),
        (peer_apscheduler.drain_in_threads, {"journal": "wal"}),
        (peer_apscheduler.drain_in_threads, {"journal": "delete"}),
        (peer_huey.drain, {"threads": 1, "keep": False}),
        (peer_huey.drain, {"threads": 1, "keep": True}),
        (peer_huey.drain, {"threads": 4, "keep": True}),
    )
    peers = {
        name: partial(_effort, function, theirs, **arguments)
        for name, (function, arguments) in zip(_BARS, drains, strict=True)
    }
    return {_HORAE: partial(_effort, horae_side.drain, ours), **peers}


def _effort(function: Callable[..., Any], count: int, **arguments: Any) -> Effort:
    """Each contender starts in a fresh process on a fresh file that was filled before the measurement."""
    told = child.run(function, count=count, **arguments)
    assert told["left"] == 0, told
    return Effort(told["seconds"] / count, told["busy"] / count)


def _take_turns(contenders: Mapping[str, Callable[[], Effort]], rounds: int) -> dict[str, list[Effort]]:
    seen: dict[str, list[Effort]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, drain in contenders.items():
            seen[name].append(drain())
    return seen


def _rate(name: str, timing: Timing) -> Row:
    return Row(name, 1 / timing.median, 1 / timing.best, "/s", timing.spread)


def _busy(name: str, efforts: list[Effort]) -> Row:
    return timed(f"{name}, processor time", Timing(tuple(effort.busy for effort in efforts)), "µs")
