"""Texts that are too long for their place: cut between words, with an ellipsis that shows that something is missing."""

from __future__ import annotations

from typing import Final

ELLIPSIS: Final = "…"
_LONGEST_WORD: Final = 40
"""What is longer, without a space, is cut where the room ends: a token, a URL, a text in a script without spaces."""


def truncate(text: str, most: int) -> str:
    """The text where it fits, else as many whole words of its beginning as fit with an ellipsis."""
    if len(text) <= most:
        return text
    room = most - len(ELLIPSIS)
    kept = text[:room]
    if not text[room].isspace():
        tail = kept[-_LONGEST_WORD - 1 :]
        spaces = [number for number, letter in enumerate(tail) if letter.isspace()]
        if spaces and kept[: len(kept) - len(tail) + spaces[-1]].strip():
            kept = kept[: len(kept) - len(tail) + spaces[-1]]
    return kept.rstrip() + ELLIPSIS
