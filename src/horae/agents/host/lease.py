"""Lease of a duty that one process of a deployment has at a time: the connection of a channel, or the router."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ...clock import Clock
from ...engine.process_identity import is_gone, own_home
from ...model.record import Record
from ...ports.records import Records
from ...store_retry import StoreRetry

LEASE_KIND: Final = "agents.lease"
ROUTER_DUTY: Final = "router"
CHANNEL_DUTY: Final = "channel:"
"""Followed by the name of the channel."""
LEASE: Final = timedelta(seconds=15)
LOG: Final = logging.getLogger("horae.agents")


class LeaseHolder(NamedTuple):
    """The process that has a duty: its name, its identity on its machine, and until when it has it."""

    name: str
    home: str
    until: datetime


def read_holder(record: Record) -> LeaseHolder:
    body = json.loads(record.body)
    return LeaseHolder(body["name"], body["home"], datetime.fromisoformat(body["until"]))


class Lease:
    """Runs a duty while this process holds its record. The duty is cancelled before another process can take it over.

    A holder that has certainly died on this machine is replaced at once, any other one when its lease has expired.
    """

    def __init__(  # noqa: PLR0913 - parts of a lease, each by its name
        self,
        records: Records,
        clock: Clock,
        duty: str,
        name: str,
        *,
        length: timedelta = LEASE,
        home: str | None = None,
        is_gone: Callable[[str], bool] = is_gone,
    ) -> None:
        self._records = records
        self._clock = clock
        self._duty = duty
        self._length = length
        self._name = name
        self._home = own_home() if home is None else home
        self._is_gone = is_gone
        self._version: int | None = None
        self._held_until = 0.0
        """By the steady clock: when this process must have stopped."""

    @property
    def is_held(self) -> bool:
        return self._version is not None and self._clock.steady() < self._held_until

    async def hold(self, run: Callable[[], Awaitable[None]]) -> None:
        """Run the duty whenever this process holds the lease, until cancelled or until the duty ends by itself."""
        retry = StoreRetry(f"lease of {self._duty}", self._clock)
        try:
            while True:
                try:
                    is_taken = await self._take()
                except Exception as error:  # noqa: BLE001 - the store may answer later
                    await self._clock.pause(retry.failed(error))
                    continue
                retry.succeeded()
                if not is_taken:
                    await self._clock.pause(self._length.total_seconds() / 5)
                    continue
                LOG.info("this process has the duty %s", self._duty)
                if await self._run_while_held(run):
                    return
        finally:
            await self._release()

    async def _run_while_held(self, run: Callable[[], Awaitable[None]]) -> bool:
        """Run the duty and renew the lease; return whether the duty has ended by itself."""
        work = asyncio.ensure_future(run())
        renewal = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
                return True
            return False
        finally:
            for each in (work, renewal):
                each.cancel()
            await asyncio.gather(work, renewal, return_exceptions=True)

    async def _renew(self) -> None:
        """Renew the lease until it is lost: another process has it, or the store did not answer in time."""
        step = self._length.total_seconds() / 4
        while True:
            await self._clock.pause(step)
            left = self._held_until - self._clock.steady()
            if left <= 0:
                LOG.warning("the duty %s is given up: its lease could not be renewed in time", self._duty)
                return
            try:
                async with asyncio.timeout(left):
                    is_kept = await self._take()
            except Exception as error:  # noqa: BLE001 - tried again until the lease has expired
                LOG.warning("the lease of %s could not be renewed: %s", self._duty, str(error) or repr(error))
                continue
            if not is_kept:
                LOG.warning("the duty %s was taken over by another process", self._duty)
                return

    async def _take(self) -> bool:
        """Write this process as the holder; False while another one has the lease."""
        began = self._clock.steady()
        record = await self._records.get_record(LEASE_KIND, self._duty)
        now = self._clock.now()
        if record is not None:
            holder = read_holder(record)
            is_own = (holder.name, holder.home) == (self._name, self._home)
            if not is_own and holder.until > now and not self._is_gone(holder.home):
                self._version = None
                return False
        body = json.dumps({"name": self._name, "home": self._home, "until": (now + self._length).isoformat()})
        version = None if record is None else record.version
        written = Record(LEASE_KIND, self._duty, "", body, 1 if version is None else version)
        if not await self._records.put_record(written, replacing=version):
            self._version = None
            return False
        self._version = 1 if version is None else version + 1
        # A quarter less than the record says: the work ends before another process may begin it.
        self._held_until = began + self._length.total_seconds() * 0.75
        return True

    async def _release(self) -> None:
        version, self._version = self._version, None
        if version is not None:
            with suppress(Exception):
                async with asyncio.timeout(2):
                    await self._records.drop_record(LEASE_KIND, self._duty, version)
