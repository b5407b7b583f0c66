"""How things are timed: contenders take turns, slice by slice, so that whatever else the machine does hits all alike.

All of it is processor time. Nothing that is measured here waits, so that a quiet machine's clock would say the same, and a
busy one disturbs it less.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import process_time
from typing import Final

_SLICE: Final = 250


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one operation, as each round saw it."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """The width of the middle half of the rounds, as a share of the median."""
        return spread(self.rounds)


@dataclass(frozen=True, slots=True)
class Contender:
    """A contender that computes the next instant; the queries have the form that costs it least."""

    ask: Callable[[Sequence[datetime]], Sequence[datetime | None]]
    questions: Sequence[datetime]


def spread(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return (third - first) / statistics.median(values)


def take_turns(contenders: Mapping[str, Contender], rounds: int) -> dict[str, Timing]:
    """Time per query of each contender."""
    seen: dict[str, list[float]] = {name: [] for name in contenders}
    with _without_collection():
        for _ in range(rounds):
            for name, seconds in _one_round(contenders).items():
                seen[name].append(seconds / len(contenders[name].questions))
    return {name: Timing(tuple(seconds)) for name, seconds in seen.items()}


def _one_round(contenders: Mapping[str, Contender]) -> dict[str, float]:
    spent = dict.fromkeys(contenders, 0.0)
    for begin in range(0, max(len(each.questions) for each in contenders.values()), _SLICE):
        for name, contender in contenders.items():
            questions = contender.questions[begin : begin + _SLICE]
            started = process_time()
            contender.ask(questions)
            spent[name] += process_time() - started
    return spent


def one_by_one(operation: Callable[[], object], times: int, before: Callable[[], object] | None = None) -> Timing:
    """Single operations, each after a preparation that does not count."""
    seen = []
    with _without_collection():
        for _ in range(times):
            if before is not None:
                before()
            started = process_time()
            operation()
            seen.append(process_time() - started)
    return Timing(tuple(seen))


def in_batches(operation: Callable[[], object], batch: int, times: int) -> Timing:
    """For what is over too soon to be timed alone."""

    def repeat() -> None:
        for _ in range(batch):
            operation()

    return Timing(tuple(seconds / batch for seconds in one_by_one(repeat, times).rounds))


@contextmanager
def _without_collection() -> Iterator[None]:
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
