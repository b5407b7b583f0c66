"""How wide text is on a terminal, where Chinese signs take two columns."""

from __future__ import annotations

from unicodedata import east_asian_width


def columns(text: str) -> int:
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def wrapped(text: str, room: int, *, between: str = " ") -> list[str]:
    """The text in lines of at most so many columns, broken between words. A word that is longer than a line stays whole, so
    that it can be copied."""
    lines: list[str] = []
    line = ""
    for word in text.split(between):
        longer = f"{line}{between}{word}" if line else word
        if line and columns(longer) > room:
            lines.append(line + between.rstrip())
            longer = word
        line = longer
    return [*lines, line]


def padded(text: str, width: int) -> str:
    return text + " " * max(0, width - columns(text))
