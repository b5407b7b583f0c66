"""Attached records: records that are written in the transaction of another change, with optimistic locking by version."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.record import RecordWrite
from ...model.refusals import refuse
from .connection import Connection


async def write_attached_records(connection: Connection, writings: Iterable[RecordWrite]) -> None:
    """Write the records as the last step before the commit. Raise `record_changed` if one has another version by now:
    the whole transaction is rolled back, and the caller must read again."""
    conflict = await write_in_key_order(connection, writings)
    if conflict is not None:
        raise refuse("record_changed", kind=conflict.record.kind, key=conflict.record.key)


async def write_in_key_order(connection: Connection, writings: Iterable[RecordWrite]) -> RecordWrite | None:
    """Write sorted by key, which prevents deadlocks; several writings of one record keep their order.

    Return the first record that was changed concurrently (None: all were written); the transaction must then not commit.
    """
    ordered = sorted(writings, key=_key)
    return await connection.write_records(ordered) if ordered else None


def _key(writing: RecordWrite) -> tuple[str, str]:
    return writing.record.kind, writing.record.key
