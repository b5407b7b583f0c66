"""Text truncation at word boundaries, marked by an ellipsis."""

from __future__ import annotations

from typing import Final

ELLIPSIS: Final = "…"
_LONGEST_WORD: Final = 40
"""Longer words are cut in the middle: a token, a URL, a text in a script without spaces."""


def truncate(text: str, most: int) -> str:
    """Return the text if it has at most `most` characters, else its first whole words and an ellipsis."""
    if len(text) <= most:
        return text
    limit = most - len(ELLIPSIS)
    head = text[:limit]
    if not text[limit].isspace():
        tail = head[-_LONGEST_WORD - 1 :]
        spaces = [index for index, character in enumerate(tail) if character.isspace()]
        if spaces and head[: len(head) - len(tail) + spaces[-1]].strip():
            head = head[: len(head) - len(tail) + spaces[-1]]
    return head.rstrip() + ELLIPSIS
