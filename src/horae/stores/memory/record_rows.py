"""Records table, indexed by kind and key and by expiry."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from ...model.record import Record, RecordWrite
from .sorted_keys import SortedKeys
from .table import Table, Transaction


class RecordRows(Table[tuple[str, str], Record]):
    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self._keys: dict[str, SortedKeys[str]] = {}
        self._by_expiry: SortedKeys[tuple[datetime, str, str]] = SortedKeys()

    def write_if_unchanged(self, writing: RecordWrite) -> bool:
        """Write with optimistic locking; returns False, without a write, if the stored version is not `replacing`."""
        record, replacing, dropped = writing
        existing = self.get((record.kind, record.key))
        if replacing != (None if existing is None else existing.version) or (dropped and existing is None):
            return False
        version = 1 if replacing is None else replacing + 1
        self.write((record.kind, record.key), None if dropped else record._replace(version=version))
        return True

    def of_kind(self, kind: str, after: str | None, *, newest: bool) -> Iterator[Record]:
        keys = self._keys.get(kind) or SortedKeys()
        return (self._rows[kind, key] for key in (keys.descending(after) if newest else keys.ascending(after)))

    def expired(self, now: datetime, limit: int) -> list[tuple[str, str]]:
        """Return the keys of at most `limit` expired records, oldest first."""
        return [(kind, key) for expires, kind, key in islice(self._by_expiry.ascending(), limit) if expires <= now]

    def update_indexes(self, before: Record | None, after: Record | None) -> None:
        if before is not None:
            self._keys[before.kind].remove(before.key)
            if before.expires is not None:
                self._by_expiry.remove((before.expires, before.kind, before.key))
        if after is not None:
            self._keys.setdefault(after.kind, SortedKeys()).add(after.key)
            if after.expires is not None:
                self._by_expiry.add((after.expires, after.kind, after.key))
