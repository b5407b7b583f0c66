"""Records as the rows of one statement, which sees all of them as they were before it: none may be in there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...model.record import Writing
from ..codec.rows import Row, expiry


def layers(writings: Iterable[Writing]) -> list[list[Writing]]:
    """What is written first of each record, then what is written second, and so on: nearly always one layer."""
    found: list[list[Writing]] = []
    times: Counter[tuple[str, str]] = Counter()
    for writing in writings:
        key = (writing.record.kind, writing.record.key)
        if times[key] == len(found):
            found.append([])
        found[times[key]].append(writing)
        times[key] += 1
    return found


def record_row(writing: Writing) -> Row:
    (kind, key, owner, body, _, expires), replacing, dropped = writing
    return kind, key, owner, body, expiry(expires), replacing, int(dropped)
