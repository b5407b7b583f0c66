"""Text lines for models: single-line, printable characters only, at most one kilobyte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..choices import Language
from ..typography import ELLIPSIS, truncate
from .messages import CUT, HEAD_MARK, MORE, ROW_MARK

MAX_LINE_BYTES: Final = 1000
_NAME_CHARACTERS: Final = 60


def to_single_line(text: str) -> str:
    """Collapse to one line: whitespace becomes blanks, unprintable characters a replacement character."""
    shown = (char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return " ".join("".join(shown).split())


def shorten_line(text: str, limit: int = _NAME_CHARACTERS) -> str:
    """Shorten a user's text to `limit` characters for use inside a line."""
    # The text may be a megabyte: only the part that can be shown is processed.
    shown = to_single_line(text[: 2 * limit])
    is_whole = len(text) <= 2 * limit
    return truncate(shown, limit) if is_whole or len(shown) > limit else shown[: limit - 1].rstrip() + ELLIPSIS


def limit_line(line: str, language: Language) -> str:
    """Return the line; a line over the limit is cut, and says how many characters were left out."""
    shown = to_single_line(line)
    if len(shown.encode(errors="replace")) <= MAX_LINE_BYTES:
        return shown
    budget = MAX_LINE_BYTES - len(CUT.in_language(language, left=len(shown)).encode())
    shortened = shown.encode(errors="replace")[:budget].decode(errors="ignore")
    return shortened + CUT.in_language(language, left=len(shown) - len(shortened))


def join_rows(head: str, rows: Sequence[str], language: Language) -> str:
    """Join the head and as many rows as fit; the rest is counted at the end."""
    line, remaining = to_single_line(head), len(rows)
    for number, row in enumerate(rows):
        extended = f"{line}{(HEAD_MARK if number == 0 else ROW_MARK).in_language(language)}{to_single_line(row)}"
        tail = MORE.in_language(language, left=remaining - 1) if remaining > 1 else ""
        if len((extended + tail).encode(errors="replace")) > MAX_LINE_BYTES:
            break
        line, remaining = extended, remaining - 1
    return limit_line(line + (MORE.in_language(language, left=remaining) if remaining else ""), language)
