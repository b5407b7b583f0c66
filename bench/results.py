"""Results of a run: rows with their targets, in sections, and whether each target was met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bench.measure import Timing, spread

Unit = Literal["µs", "ms", "s", "x", "bytes", "MB", "/s", "%", ""]
Sense = Literal["at least", "under", "at most"]
_SCALE = {"µs": 1e6, "ms": 1e3}


@dataclass(frozen=True, slots=True)
class Bar:
    sense: Sense
    limit: float

    def missed_by(self, value: float) -> float | None:
        """The share of the limit that is lacking; None when the bar is met."""
        if self.sense == "at least":
            return None if value >= self.limit else (self.limit - value) / self.limit
        met = value < self.limit if self.sense == "under" else value <= self.limit
        return None if met else (value - self.limit) / (self.limit or 1)


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    median: float
    best: float
    unit: Unit
    spread: float | None = None
    bar: Bar | None = None

    @property
    def judged(self) -> float:
        """A bar has to hold for the less favourable of the two numbers."""
        if self.bar is not None and self.bar.sense == "at least":
            return min(self.median, self.best)
        return max(self.median, self.best)

    @property
    def met(self) -> bool | None:
        return None if self.bar is None else self.bar.missed_by(self.judged) is None

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        missed = self.bar.missed_by(self.judged)
        return "met" if missed is None else f"missed by {missed:.0%}"

    def as_json(self) -> dict[str, Any]:
        bar = None if self.bar is None else {"sense": self.bar.sense, "limit": self.bar.limit}
        return {
            "what": self.what,
            "median": self.median,
            "best": self.best,
            "unit": self.unit,
            "spread": self.spread,
            "target": bar,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"title": self.title, "rows": [row.as_json() for row in self.rows], "notes": list(self.notes)}


def timed(what: str, timing: Timing, unit: Literal["µs", "ms"], bar: Bar | None = None) -> Row:
    scale = _SCALE[unit]
    return Row(what, timing.median * scale, timing.best * scale, unit, timing.spread, bar)


def times_faster(what: str, ours: Timing, theirs: Timing, bar: Bar | None = None) -> Row:
    """How many times longer the other takes; the spread is that of the ratios of the single rounds."""
    ratios = [other / own for own, other in zip(ours.rounds, theirs.rounds, strict=True)]
    return Row(what, theirs.median / ours.median, theirs.best / ours.best, "x", spread(ratios), bar)


def counted(what: str, value: float, unit: Unit = "", bar: Bar | None = None) -> Row:
    """Something that is counted, not timed."""
    return Row(what, value, value, unit, None, bar)
