"""Stored text for a page: without terminal sequences, with direction controls visible, and cut to a beginning."""

from __future__ import annotations

import re
from typing import Final

from ..model.plain_text import plain_text as strip_text

_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain_text(text: str) -> str:
    """Return the text without terminal sequences; direction controls are escaped, lone surrogates replaced."""
    shown = strip_text(_DIRECTION.sub(lambda match: f"\\u{ord(match.group()):04x}", text))
    return shown.encode(errors="replace").decode()


def cut(text: str, characters: int, lines: int) -> str:
    """Return the text, or its first lines and an ellipsis where it is longer than either limit."""
    head = "\n".join(text[:characters].split("\n")[:lines])
    return text if head == text else f"{head.rstrip()} …"
