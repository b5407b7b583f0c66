"""Trigger word of a group: a message that begins with it wakes the agent."""

from __future__ import annotations

import re
from functools import lru_cache
from re import Match, Pattern


@lru_cache(maxsize=1_024)
def _compile_trigger(trigger: str) -> Pattern[str]:
    # A word boundary would refuse "@Andy每天": Chinese characters are word characters, but no part of a Latin name.
    boundary = r"(?![A-Za-z0-9_])" if re.match(r"[A-Za-z0-9_]", trigger[-1:]) else ""
    return re.compile(re.escape(trigger) + boundary, re.IGNORECASE)


def _find_trigger(text: str, trigger: str) -> Match[str] | None:
    return _compile_trigger(trigger.strip()).match(text) if trigger.strip() else None


def has_trigger(text: str, trigger: str) -> bool:
    """Return whether the text begins with the trigger word, in any case."""
    return _find_trigger(text.strip(), trigger) is not None


def remove_trigger(text: str, trigger: str) -> str:
    """Return the text after the trigger word and the punctuation that follows it; a text without it stays as it is."""
    stripped = text.strip()
    found = _find_trigger(stripped, trigger)
    return stripped if found is None else stripped[found.end() :].lstrip(" \t\r\n,，:：;；、")
