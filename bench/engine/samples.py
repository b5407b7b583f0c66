"""Single measurements in blocks, and their percentiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.measure import spread
from bench.results import Bar, Row


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds, in the blocks in which they were taken: how far the blocks differ is the noise of the machine."""

    blocks: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, blocks: Iterable[Iterable[float]]) -> Samples:
        return cls(tuple(tuple(block) for block in blocks))

    @property
    def all(self) -> list[float]:
        return [each for block in self.blocks for each in block]

    def percentile(self, share: float) -> float:
        return percentile(self.all, share)

    def of_each_block(self, share: float) -> list[float]:
        return [percentile(block, share) for block in self.blocks if block]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed: always one that was really seen."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def percentile_row(what: str, samples: Samples, share: float, bar: Bar | None = None) -> Row:
    """Of all samples together; `best` and `spread` are those of the single blocks."""
    blocks = samples.of_each_block(share)
    noise = spread(blocks) if len(blocks) > 1 else None
    return Row(what, samples.percentile(share) * 1e3, min(blocks) * 1e3, "ms", noise, bar)


def usual_rows(what: str, samples: Samples, bar: Bar | None = None) -> list[Row]:
    """Half of them, all but a hundredth, and the worst; the bar is for the second."""
    return [
        percentile_row(f"{what}, p50", samples, 0.5),
        percentile_row(f"{what}, p99", samples, 0.99, bar),
        percentile_row(f"{what}, worst", samples, 1.0),
    ]
