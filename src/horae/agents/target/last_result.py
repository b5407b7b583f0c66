"""Last result of a prompt in the words of NanoClaw: `Error: …`, the beginning of the text, or `Completed`; pure."""

from __future__ import annotations

import json
from typing import Final

from .turn_state import COMPLETED

_CHARACTERS: Final = 200


def last_result(summary: str | None, *, has_failed: bool = False) -> str | None:
    """Return the words for what a task's status has of its last run: its error, or its result as JSON, perhaps cut."""
    if summary is None:
        return None
    if has_failed:
        return f"Error: {summary}"
    text = _decode(summary)
    return text[:_CHARACTERS] if isinstance(text, str) else COMPLETED


def _decode(summary: str) -> object:
    for text in (summary, f'{summary}"'):
        try:
            decoded: object = json.loads(text)
        except ValueError:
            continue
        return decoded
    return summary
