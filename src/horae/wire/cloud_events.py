"""What happened, as CloudEvents 1.0, for front ends; the shape itself is pure and is kept with the event."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from ..model.events.cloud_event import cloud_event, encoded, type_of
from ..model.events.event import EventKind
from ..model.refusals import refuse

__all__ = ["KINDS", "cloud_event", "encoded", "read_kinds", "type_of"]

KINDS: Final = tuple(kind.value for kind in EventKind)


def read_kinds(patterns: Iterable[object]) -> frozenset[EventKind] | None:
    """`run.*`, `task.failed`: the kinds that are meant; None when nothing was said, which is all of them."""
    found: set[EventKind] = set()
    said = False
    for pattern in patterns:
        said = True
        text = pattern.strip() if isinstance(pattern, str) else ""
        fits = {kind for kind in EventKind if fnmatchcase(kind.value, text)}
        if not fits:
            raise refuse("bad_choice", name="types", value=pattern, allowed=", ".join(KINDS))
        found |= fits
    return frozenset(found) if said else None
