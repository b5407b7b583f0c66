"""Before a node claims anything: its clock must be near the store's, and its lease that of the nodes that are there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Protocol

from ..ports.lease_terms import agreeing, agreement, lease_in
from ..ports.records import Records
from ..ports.store import Node, Store
from .refusals import refuse
from .settings import EngineSettings
from .store_clock import CorrectedClock

_FEW: Final = 3


class Kept(Store, Records, Protocol):
    """What it asks of the store."""


class Admission:
    """Asked when the node's row is written and its lease was renewed once: so its clock has been compared with the store's,
    and of two that come at the same moment at least one sees the other."""

    def __init__(
        self, store: Kept, clock: CorrectedClock, settings: EngineSettings, is_gone: Callable[[str], bool]
    ) -> None:
        self._store = store
        self._clock = clock
        self._tolerance = settings.clock_tolerance
        self._lease = settings.terms.lease
        self._is_gone = is_gone

    async def check(self, node: str) -> None:
        self._check_clock()
        while not await self._agreed(node):
            pass

    async def _agreed(self, node: str) -> bool:
        """Whether what is agreed on is this node's lease now; False when somebody else wrote meanwhile."""
        known = await agreement(self._store)
        if known is None:
            return await self._store.put_record(agreeing(self._lease), replacing=None)
        theirs = lease_in(known)
        if theirs == self._lease:
            return True
        await self._check_alone(node, theirs)
        if not await self._store.put_record(agreeing(self._lease), replacing=known.version):
            return False
        try:
            # Who came meanwhile may still have read what was agreed on before.
            await self._check_alone(node, theirs)
        except BaseException:
            await self._store.put_record(agreeing(theirs), replacing=known.version + 1)
            raise
        return True

    def _check_clock(self) -> None:
        """Whatever is near enough is corrected; what is not may be as wrong tomorrow, and the other way."""
        offset = self._clock.offset
        if abs(offset) > self._tolerance:
            now = self._clock.now()
            raise refuse(
                "clock_skew",
                here=_told(now - offset),
                store=_told(now),
                apart=f"{abs(offset).total_seconds():.1f}",
                most=_seconds(self._tolerance),
            )

    async def _check_alone(self, node: str, theirs: timedelta) -> None:
        others = [each for each in await self._store.nodes() if each.id != node and self._may_live(each, theirs)]
        if others:
            named = [f"{each.id} ({each.host})" if each.host else each.id for each in others[:_FEW]]
            raise refuse("other_lease", mine=_seconds(self._lease), theirs=_seconds(theirs), nodes=", ".join(named))

    def _may_live(self, node: Node, lease: timedelta) -> bool:
        """Who has not renewed for a lease has stopped what it carried, or will before it does anything else."""
        return not self._is_gone(node.home) and self._clock.now() - node.renewed <= lease


def _told(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g}"
