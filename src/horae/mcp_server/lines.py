"""Lines that a model reads: one line each, nothing that a terminal obeys, and never more than a kilobyte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..choices import Language
from ..truncation import ELLIPSIS, truncate
from .messages import CUT, HEAD_MARK, MORE, ROW_MARK

MOST_BYTES: Final = 1000
_NAME_CHARACTERS: Final = 60


def plain(text: str) -> str:
    """On one line: blanks for breaks, a sign for what cannot be shown."""
    shown = (sign if sign.isprintable() else " " if sign.isspace() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return " ".join("".join(shown).split())


def brief(text: str, most: int = _NAME_CHARACTERS) -> str:
    """Somebody's own words inside a line of ours: the beginning will do."""
    # What is cut off anyway need not be looked at: it may be a megabyte.
    shown = plain(text[: 2 * most])
    is_whole = len(text) <= 2 * most
    return truncate(shown, most) if is_whole or len(shown) > most else shown[: most - 1].rstrip() + ELLIPSIS


def whole(line: str, language: Language) -> str:
    """The line, or as much of it as is allowed with a word on how much was left out."""
    shown = plain(line)
    if len(shown.encode(errors="replace")) <= MOST_BYTES:
        return shown
    room = MOST_BYTES - len(CUT.told(language, left=len(shown)).encode())
    kept = shown.encode(errors="replace")[:room].decode(errors="ignore")
    return kept + CUT.told(language, left=len(shown) - len(kept))


def listed(head: str, rows: Sequence[str], language: Language) -> str:
    """As many rows as fit behind the head; how many did not is said."""
    line, left = plain(head), len(rows)
    for number, row in enumerate(rows):
        longer = f"{line}{(HEAD_MARK if number == 0 else ROW_MARK).told(language)}{plain(row)}"
        tail = MORE.told(language, left=left - 1) if left > 1 else ""
        if len((longer + tail).encode(errors="replace")) > MOST_BYTES:
            break
        line, left = longer, left - 1
    return whole(line + (MORE.told(language, left=left) if left else ""), language)
