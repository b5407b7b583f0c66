"""Records: small documents under (kind, key), each with an owner and a version. Accounts, groups and webhooks ride on it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from ..model.page import Page
from ..model.record import Record as Record  # noqa: PLC0414 - whoever asks for records finds the noun beside the verbs
from ..model.record import Writing as Writing  # noqa: PLC0414


class Records(Protocol):
    async def get_record(self, kind: str, key: str, owner: str | None = None) -> Record | None:
        """One record; a foreign one answers like an absent one."""

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        """Write it with version `replacing` + 1; None: only if it is new. False when somebody else was faster."""

    async def drop_record(self, kind: str, key: str, version: int) -> bool:
        """Remove exactly this version; False when there is another, or none."""

    async def write_records(self, writings: Sequence[Writing]) -> bool:
        """All of them in one transaction, or none: False when somebody else was faster with any of them."""

    async def records(
        self, kind: str, owner: str | None = None, after: str | None = None, limit: int = 100, *, newest: bool = False
    ) -> Page[Record]:
        """By key; `newest` begins at the last key and goes backwards."""

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove up to so many that nobody needs any more; how many. Next to nothing when there are none."""
