"""How wide text is on a terminal, where Chinese signs take two columns."""

from __future__ import annotations

from unicodedata import east_asian_width


def columns(text: str) -> int:
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def padded(text: str, width: int) -> str:
    return text + " " * max(0, width - columns(text))
