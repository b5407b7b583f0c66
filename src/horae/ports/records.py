"""The records port: small versioned documents with an owner by (kind, key), and a write that reports a lost conflict."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Protocol

from ..errors import Conflict
from ..model.events.event import Event
from ..model.page import Page
from ..model.record import Record as Record  # noqa: PLC0414 - callers import the record types with the protocol
from ..model.record import RecordWrite as RecordWrite  # noqa: PLC0414


class Records(Protocol):
    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        """Return one record, or None. With `owner`, another owner's record answers like an absent one."""

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        """Write the record with version `replacing` + 1; None: only if it is new. False if another writer was faster."""

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        """Remove exactly this version; False if the version is another one, or there is no record."""

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        """Write all of them in one transaction, or none; False if another writer was faster with any of them."""

    async def write_with_events(self, writings: Sequence[RecordWrite], events: Sequence[Event]) -> bool:
        """Write records as `write_records` does, and append events to the log in the same transaction."""

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        """Return a page of records in the order of their keys; `newest` begins at the last key and goes backwards."""

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` expired records and return how many; costs next to nothing when there are none."""


_CODE = "record_changed"


def is_conflict_over(conflict: Conflict, kind: str) -> bool:
    """Whether another writer changed a record of that kind meanwhile, so that a retry makes sense."""
    return conflict.code == _CODE and conflict.facts.get("kind") == kind


async def write_unless_changed(call: Awaitable[object]) -> bool:
    """Await a write; return False if another writer had changed an attached record meanwhile."""
    try:
        await call
    except Conflict as conflict:
        if conflict.code != _CODE:
            raise
        return False
    return True
