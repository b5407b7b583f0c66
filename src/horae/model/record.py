"""Record: a versioned JSON document under (kind, key), used for accounts, tokens, webhooks, audit rows and idempotency."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Record(NamedTuple):
    kind: str
    key: str
    owner: str
    body: str
    """JSON text."""
    version: int = 1
    expires: datetime | None = None
    """From this instant on retention may remove the record; None keeps it."""


class RecordWrite(NamedTuple):
    """Conditional write of a record, in the transaction of another write: compare-and-set on its version.

    `replacing` is the version that must be stored; None: the record must not exist. `dropped` deletes that version.
    """

    record: Record
    replacing: int | None = None
    dropped: bool = False
