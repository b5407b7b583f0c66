"""Batches of record writes for one statement each: a statement sees only the rows from before it, so no record may occur
twice in a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...model.record import RecordWrite
from ..codec.rows import Row, encode_expiry


def split_batches(writings: Iterable[RecordWrite]) -> list[list[RecordWrite]]:
    """Split into batches: the first write of each record, then the second, and so on. Nearly always there is one batch."""
    batches: list[list[RecordWrite]] = []
    write_counts: Counter[tuple[str, str]] = Counter()
    for writing in writings:
        key = (writing.record.kind, writing.record.key)
        if write_counts[key] == len(batches):
            batches.append([])
        batches[write_counts[key]].append(writing)
        write_counts[key] += 1
    return batches


def encode_record_write(writing: RecordWrite) -> Row:
    (kind, key, owner, body, _, expires), replacing, dropped = writing
    return kind, key, owner, body, encode_expiry(expires), replacing, int(dropped)
