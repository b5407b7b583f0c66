"""Runs per day: whoever has used up theirs waits for the next day, on record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Final

from ..model.account import OWNER_KIND, Owner
from ..model.page import LARGEST_PAGE
from ..model.tally import Counts, hour_of, lateness_in
from .accounts import Accounts, Keeping

_ANY: Final = timedelta(0)


class Daily:
    """`enforce` is called about once a minute, by any number of processes."""

    def __init__(self, store: Keeping, accounts: Accounts) -> None:
        self._store = store
        self._accounts = accounts

    async def enforce(self, now: datetime) -> int:
        """Bar whoever has reached their limit of this day (UTC), and lift what another day has left. How many changed.

        While nobody has such a limit it costs one read, and another one while all together have not reached the least.
        """
        changed, everybody = 0, -1
        async for owner in self._owners():
            most = owner.quotas.runs_per_day
            if most is None and owner.exhausted is None:
                continue
            if everybody < 0:
                everybody = await self._runs(None, now)
            over = most is not None and everybody >= most and await self._runs(owner.name, now) >= most
            changed += await self._settled(owner, now, over=over)
        return changed

    async def _settled(self, owner: Owner, now: datetime, *, over: bool) -> bool:
        today = now.astimezone(UTC).date()
        if over:
            return owner.exhausted != today and owner.revoked is None and await self._accounts.exhaust(owner, now)
        return owner.exhausted is not None and await self._accounts.refresh(owner)

    async def _owners(self) -> AsyncIterator[Owner]:
        after: str | None = None
        while True:
            page = await self._store.records(OWNER_KIND, None, after, LARGEST_PAGE)
            for record in page.items:
                yield self._accounts.read(record)
            after = page.after
            if after is None:
                return

    async def _runs(self, owner: str | None, now: datetime) -> int:
        """What began and ended since midnight."""
        hour = hour_of(now)
        counts: Counts = await self._store.counts(owner, range(hour - hour % 24, hour + 1))
        return lateness_in(counts, _ANY).counted
