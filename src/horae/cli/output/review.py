"""A task under review on the terminal: secrets first and marked, then every field of the task, none of them cut."""

from __future__ import annotations

from collections.abc import Iterator

from ...wire.review import Review
from .styled_text import Cell, StyledText


def review_cells(review: Review) -> Iterator[Cell]:
    for warning in review.warnings:
        yield ("  ", StyledText(f"! {warning}", "bad"))
    for line in review.lines[len(review.warnings) :]:
        yield f"  {line}"
