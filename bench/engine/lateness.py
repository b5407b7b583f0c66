"""Lateness of tasks at a steady rate, compared with bare commits in alternation."""

from __future__ import annotations

from typing import Final

from bench.counts import Counts
from bench.engine import child, peer_apscheduler, peer_huey
from bench.engine.samples import Samples, usual_rows
from bench.engine.steady_rate import early, take_turns
from bench.results import Bar, Section

# Tasks a second, and how much later than a bare commit the slowest hundredth may be, in milliseconds.
_RATES: Final = ((100, 3), (1_000, 10))


def lateness(counts: Counts) -> list[Section]:
    return [*(_ours(counts, rate, margin) for rate, margin in _RATES), _theirs(counts)]


def _ours(counts: Counts, rate: int, margin: float) -> Section:
    scale = counts.engine
    # The fast rate needs a tenth of the time for the same number of samples.
    seconds = scale.block_seconds * 100 / rate
    seen = child.run(take_turns, rate=rate, seconds=seconds, blocks=scale.blocks)
    bare, ours = Samples.of(seen["bare"]), Samples.of(seen["ours"])
    rows = (
        *usual_rows("a bare commit", bare),
        *usual_rows("a bare commit after a pause", Samples.of(seen["paced"])),
        *usual_rows("Horae, lateness", ours, Bar("at most", bare.percentile(0.99) * 1e3 + margin)),
        early(ours),
    )
    notes = (
        f"{len(ours.all):,} tasks and as many commits, in {scale.blocks} blocks that take turns.",
        f"Target: the p99 of a bare commit, one right after the other, and {margin} ms more.",
    )
    return Section(f"Lateness at {rate:,} tasks a second", rows, notes)


def _theirs(counts: Counts) -> Section:
    seconds = counts.engine.peer_seconds
    apscheduler = child.run(peer_apscheduler.punctual, rate=100, seconds=seconds)
    huey = child.run(peer_huey.punctual, rate=100, seconds=seconds, threads=4)
    rows = (
        *usual_rows("APScheduler, on a loop, lateness", Samples.of([apscheduler])),
        *usual_rows("Huey, four threads, lateness", Samples.of([huey])),
    )
    return Section("Lateness of the peers at 100 tasks a second", rows)
