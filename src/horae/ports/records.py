"""Records: small documents under (kind, key), each with an owner and a version. Accounts, groups and webhooks ride on it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..model.page import Page


class Record(NamedTuple):
    kind: str
    key: str
    owner: str
    body: str
    """JSON text."""
    version: int = 1


class Records(Protocol):
    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        """One record; a foreign one answers like an absent one."""

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        """Write it with version `replacing` + 1; None: only if it is new. False when somebody else was faster."""

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        """Remove exactly this version; False when there is another, or none."""

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Record]:
        """By key."""
