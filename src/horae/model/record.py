"""A record: a small document under (kind, key). Accounts, tokens, webhooks, the audit trail and answers to be repeated ride on it."""

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
    """When nobody needs it any more: from then on it may go at any time. None keeps it."""


class Writing(NamedTuple):
    """A record that is written together with something else, or not at all.

    `replacing` is the version that it takes the place of; None: only if it is new. `dropped`: that version goes instead.
    """

    record: Record
    replacing: int | None = None
    dropped: bool = False
