"""Results as a table for the terminal, or in Markdown for bench/results."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bench.results import Bar, Row, Section, Unit

_HEAD: Final = ("", "median", "best", "spread", "target", "verdict")


def as_text(section: Section) -> str:
    lines = [_HEAD, *(_cells(row) for row in section.rows)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    body = ("  ".join(_aligned(cells, widths)).rstrip() for cells in lines)
    return "\n".join([section.title, *(f"  {line}" for line in body), *(f"  {note}" for note in section.notes), ""])


def as_markdown(sections: Iterable[Section], facts: Mapping[str, str]) -> str:
    told = ", ".join(f"{name} {value}" if name not in ("system", "python") else value for name, value in facts.items())
    lines = [f"{told}.", ""]
    for section in sections:
        lines += [
            f"### {section.title}",
            "",
            "| | median | best | spread | target | verdict |",
            "|---|--:|--:|--:|---|---|",
        ]
        lines += [f"| {' | '.join(_cells(row))} |" for row in section.rows]
        lines += ["", *(f"{note}\n" for note in section.notes)]
    return "\n".join([*lines, summary(sections)])


def summary(sections: Iterable[Section]) -> str:
    judged = [(section, row) for section in sections for row in section.rows if row.met is not None]
    missed = [f"{section.title}: {row.what}: {row.verdict}" for section, row in judged if not row.met]
    told = f"{len(judged) - len(missed)} of {len(judged)} targets met."
    return told if not missed else "\n".join([told, *(f"- {each}" for each in missed)])


def _cells(row: Row) -> tuple[str, ...]:
    spread = "" if row.spread is None else f"{row.spread:.0%}"
    target = "" if row.bar is None else _target(row.bar, row.unit)
    return (row.what, _amount(row.median, row.unit), _amount(row.best, row.unit), spread, target, row.verdict)


def _target(bar: Bar, unit: Unit) -> str:
    return f"{bar.sense} {bar.limit:{',.0f' if bar.limit >= 1_000 else '.3g'}} {unit}".rstrip()


def _amount(value: float, unit: Unit) -> str:
    """Three digits that mean something."""
    decimals = 0 if value >= 100 or unit in ("bytes", "") else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{decimals}f} {unit}".rstrip()


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The first column and the last two are words, the others numbers."""
    gaps = [" " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
    return [
        gap + cell if 1 <= index <= 3 else cell + gap for index, (cell, gap) in enumerate(zip(cells, gaps, strict=True))
    ]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
