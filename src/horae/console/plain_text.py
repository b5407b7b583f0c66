"""Stored text for a page: without terminal sequences, with direction controls visible, and cut to a beginning."""

from __future__ import annotations

import re
from typing import Final

_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain_text(text: str) -> str:
    """Return the text without terminal sequences and controls; direction controls are escaped, lone surrogates replaced."""
    visible = _CONTROLS.sub("", _TERMINAL.sub("", text))
    shown = _DIRECTION.sub(lambda match: f"\\u{ord(match.group()):04x}", visible)
    return shown.encode(errors="replace").decode()


def cut(text: str, characters: int, lines: int) -> str:
    """Return the text, or its first lines and an ellipsis where it is longer than either limit."""
    head = "\n".join(text[:characters].split("\n")[:lines])
    return text if head == text else f"{head.rstrip()} …"
