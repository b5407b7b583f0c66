"""Daily budget of idempotency keys per owner: each key is kept for a day, so their number is bounded by a quota."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from ...clock import Clock
from ...model.accounts.principal import Principal
from ...model.record import Record
from ...ports.records import Records
from .refusals import refuse

KIND: Final = "key_budget"
BLOCK_SIZE: Final = 50
"""A process reserves so many keys at once and hands them out from memory: one write per fifty requests."""
_TRIES: Final = 100
_MAX_OWNERS: Final = 10_000
_RETENTION: Final = timedelta(days=2)


class _Block(NamedTuple):
    day: date
    left: int


class KeyBudget:
    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._blocks: dict[str, _Block] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def take(self, principal: Principal) -> None:
        """Count one more key for this owner today; refused beyond the quota.

        Keys that a stopped process had reserved and not used are lost for the day.
        """
        most = principal.quotas.idempotency_keys
        if most is None:
            return
        if self._take_from_block(principal.owner):
            return
        lock = self._locks.get(principal.owner)
        if lock is None:
            lock = self._locks[principal.owner] = asyncio.Lock()
        # One block for all requests that wait: each would otherwise reserve one, and all but one of them would be lost.
        async with lock:
            while not self._take_from_block(principal.owner):
                now = self._clock.now().astimezone(UTC)
                block = _Block(now.date(), await self._reserve(principal.owner, most, now))
                if len(self._blocks) >= _MAX_OWNERS:
                    self._blocks.clear()
                self._blocks[principal.owner] = block

    def _take_from_block(self, owner: str) -> bool:
        """Take one of the keys that this process has reserved for today; False: none is left."""
        block = self._blocks.get(owner)
        if block is None or block.left < 1 or block.day != self._clock.now().astimezone(UTC).date():
            return False
        self._blocks[owner] = block._replace(left=block.left - 1)
        return True

    async def _reserve(self, owner: str, most: int, now: datetime) -> int:
        """Reserve keys in the owner's record, which all processes share; return how many were reserved."""
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, owner)
            body = {} if known is None else json.loads(known.body)
            taken = body["taken"] if body.get("day") == now.date().isoformat() else 0
            number = min(BLOCK_SIZE, most - taken)
            if number < 1:
                break
            text = json.dumps({"day": now.date().isoformat(), "taken": taken + number})
            record = Record(KIND, owner, owner, text, expires=now + _RETENTION)
            if await self._records.put_record(record, replacing=None if known is None else known.version):
                return number
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        raise refuse("too_many_keys", most=most, retry_after=max(1, int((midnight - now).total_seconds())))
