"""CloudEvents 1.0 for front ends: re-exports the pure encoder, and parses event type filters."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from ..model.events.cloud_event import cloud_event, encode_body, type_of
from ..model.events.event import EventKind
from ..model.refusals import refuse

__all__ = ["KINDS", "cloud_event", "encode_body", "parse_kinds", "type_of"]

KINDS: Final = tuple(kind.value for kind in EventKind)


def parse_kinds(patterns: Iterable[object]) -> frozenset[EventKind] | None:
    """Return the event kinds that match patterns such as `run.*` or `task.failed`; None without patterns, which means
    all. A pattern that matches nothing is refused."""
    kinds: set[EventKind] = set()
    has_patterns = False
    for pattern in patterns:
        has_patterns = True
        text = pattern.strip() if isinstance(pattern, str) else ""
        matching = {kind for kind in EventKind if fnmatchcase(kind.value, text)}
        if not matching:
            raise refuse("bad_choice", name="types", value=pattern, allowed=", ".join(KINDS))
        kinds |= matching
    return frozenset(kinds) if has_patterns else None
