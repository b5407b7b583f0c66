"""Geometry of the charts: pure functions from numbers to coordinates, which the templates write as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

STRIP_HEIGHT: Final = 64
SPARK_HEIGHT: Final = 24
BAR_WIDTH: Final = 10
BAR_GAP: Final = 2


class Segment(NamedTuple):
    """One part of a stacked bar: a class of the style sheet, and its place."""

    kind: str
    y: float
    height: float


class Bar(NamedTuple):
    """A stacked bar. `label` is its whole content as text, for the title and for the table."""

    x: float
    width: float
    segments: tuple[Segment, ...]
    label: str
    href: str
    is_plan: bool


class StripInput(NamedTuple):
    """Counts of one hour by kind of outcome, in the order in which they are stacked."""

    counts: Mapping[str, int]
    label: str
    href: str
    is_plan: bool = False


def stacked_bars(hours: Sequence[StripInput]) -> tuple[Bar, ...]:
    """Return one bar per hour on a common scale; a part that is not empty has at least one pixel."""
    highest = max((sum(hour.counts.values()) for hour in hours), default=0)
    bars = []
    for number, hour in enumerate(hours):
        segments, top = [], float(STRIP_HEIGHT)
        for kind, count in hour.counts.items():
            if count:
                height = max(1.0, round(count / highest * (STRIP_HEIGHT - 4), 2))
                top -= height
                segments.append(Segment(kind, round(max(0.0, top), 2), height))
        bars.append(
            Bar(number * (BAR_WIDTH + BAR_GAP), BAR_WIDTH, tuple(segments), hour.label, hour.href, hour.is_plan)
        )
    return tuple(bars)


def spark_points(values: Sequence[float | None], width: int = 120, height: int = SPARK_HEIGHT) -> str:
    """Return the `points` of a polyline through the values; gaps are left out, and a single value is a short line."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    highest = max(known) or 1.0
    step = width / max(1, len(values) - 1)
    points = [
        f"{number * step:.1f},{height - 1 - value / highest * (height - 2):.1f}"
        for number, value in enumerate(values)
        if value is not None
    ]
    if len(points) == 1:
        x, _, y = points[0].partition(",")
        points.append(f"{min(width, float(x) + 2):.1f},{y}")
    return " ".join(points)
