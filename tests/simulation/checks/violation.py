"""A guarantee that did not hold."""

from __future__ import annotations

from typing import NamedTuple


class Violation(NamedTuple):
    """`guarantee` is its number in the list of guarantees, or the name of a rule."""

    guarantee: str
    what: str

    def __str__(self) -> str:
        return f"[{self.guarantee}] {self.what}"
