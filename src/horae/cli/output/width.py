"""Display width of text on a terminal: wide East Asian characters take two columns."""

from __future__ import annotations

from shutil import get_terminal_size
from unicodedata import east_asian_width


def display_width(text: str) -> int:
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def terminal_width() -> int:
    """Return COLUMNS, else the width of the terminal, else 80."""
    return get_terminal_size().columns


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - display_width(text))
