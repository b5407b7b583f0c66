"""Records in a transaction: compare-and-set on their versions, and the indexes that lists and retention read."""

from __future__ import annotations

from collections.abc import Iterable

from ....model.refusals import refuse
from ....ports.records import Record, RecordWrite
from ..layout.documents import decode_record_document, encode_record_document
from ..layout.indexes import NOTHING, members_of_record, update_indexes
from .transaction import Transaction


async def read_record(transaction: Transaction, kind: str, key: str) -> Record | None:
    text = await transaction.read_one(transaction.keys.record(kind, key))
    return None if text is None else decode_record_document(text)


async def write_attached_records(transaction: Transaction, writings: Iterable[RecordWrite]) -> None:
    """Write records with the transaction; raises `record_changed` if one has another version than expected."""
    conflict = await write_records(transaction, writings)
    if conflict is not None:
        raise refuse("record_changed", kind=conflict.record.kind, key=conflict.record.key)


async def write_records(transaction: Transaction, writings: Iterable[RecordWrite]) -> RecordWrite | None:
    """Write records with the transaction; return the first one that has another version than expected, None: all were
    written. Several writings of one record are applied in order."""
    given = list(writings)
    keys = transaction.keys
    await transaction.read([keys.record(each.record.kind, each.record.key) for each in given])
    for writing in given:
        record, replacing, dropped = writing
        existing = await read_record(transaction, record.kind, record.key)
        if replacing != (None if existing is None else existing.version) or (dropped and existing is None):
            return writing
        if dropped:
            put_record(transaction, existing, None)
        else:
            version = 1 if replacing is None else replacing + 1
            put_record(transaction, existing, record._replace(version=version))
    return None


def put_record(transaction: Transaction, before: Record | None, after: Record | None) -> None:
    """Write a record that was read (None: there was none), or delete it (None), with its indexes."""
    keys = transaction.keys
    either = after or before
    if either is not None:
        text = None if after is None else encode_record_document(after)
        transaction.put(keys.record(either.kind, either.key), text)
        members = (NOTHING if each is None else members_of_record(keys, each) for each in (before, after))
        update_indexes(transaction, *members)
