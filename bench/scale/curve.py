"""Markdown table of its own shape, for values that are compared side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.engine.samples import percentile


def matrix(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """The first column is words, the others are numbers. It is one note, however many lines it has."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines))


def milliseconds(seconds: Sequence[float], *shares: float) -> str:
    """`0.81 / 1.9`: as many percentiles as were asked for."""
    if not seconds:
        return "no answer"
    return " / ".join(short(percentile(seconds, share) * 1e3) for share in shares)


def short(value: float) -> str:
    """Two digits that mean something, or all there are before the point."""
    if value >= 10 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"
