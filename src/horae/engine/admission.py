"""Admission check of a starting node: its clock must be near the store's, its lease duration that of the live nodes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Protocol

from ..errors import Conflict, UnfitNode
from ..ports.node_records import load_lease_record, make_lease_record, parse_lease
from ..ports.records import Records
from ..ports.store import Node, Store
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry
from .settings import EngineSettings
from .store_clock import CorrectedClock

CATALOGUE: Final = RefusalCatalogue(
    {
        "clock_skew": RefusalEntry(
            UnfitNode,
            "This machine's clock says {here}, the store's says {store}: {apart} s apart, and at most {most} s are corrected.",
            "Set this clock right, or the store's (timedatectl, chronyc makestep), and start again; or raise clock_tolerance.",
            "本机时钟为 {here},存储的时钟为 {store}:相差 {apart} 秒,最多只校正 {most} 秒。",
            "请校准本机或存储的时钟(timedatectl、chronyc makestep)后重新启动;或调大 clock_tolerance。",
        ),
        "other_lease": RefusalEntry(
            Conflict,
            "This node has a lease of {mine} s, but those that run on this store have one of {theirs} s: {nodes}.",
            "Start it with --lease {theirs}, or stop the others first: the shorter lease would take over runs that still go on.",
            "此节点的租约为 {mine} 秒,而正在使用此存储的节点的租约为 {theirs} 秒:{nodes}。",
            "请使用 --lease {theirs} 启动,或先停止其他节点:租约较短的节点会接管仍在进行的运行。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


_MAX_NAMED: Final = 3


class AdmissionStore(Store, Records, Protocol):
    """Store interface of the admission check."""


class Admission:
    """Runs after the node has joined and renewed its lease once: by then its clock has been compared with the store's, and
    of two nodes that start at the same moment at least one sees the other."""

    def __init__(
        self, store: AdmissionStore, clock: CorrectedClock, settings: EngineSettings, is_gone: Callable[[str], bool]
    ) -> None:
        self._store = store
        self._clock = clock
        self._tolerance = settings.clock_tolerance
        self._lease = settings.terms.lease
        self._is_gone = is_gone

    async def check(self, node: str) -> None:
        """Raise a refusal if the node may not take part; else agree on its lease duration."""
        self._check_clock()
        while not await self._try_agree(node):
            pass

    async def _try_agree(self, node: str) -> bool:
        """Try to make this node's lease duration the agreed one; return False when another node wrote at the same time."""
        known = await load_lease_record(self._store)
        if known is None:
            return await self._store.put_record(make_lease_record(self._lease), replacing=None)
        theirs = parse_lease(known)
        if theirs == self._lease:
            return True
        await self._check_alone(node, theirs)
        if not await self._store.put_record(make_lease_record(self._lease), replacing=known.version):
            return False
        try:
            # A node that joined meanwhile may have read the former agreement.
            await self._check_alone(node, theirs)
        except BaseException:
            await self._store.put_record(make_lease_record(theirs), replacing=known.version + 1)
            raise
        return True

    def _check_clock(self) -> None:
        """Refuse a clock beyond the tolerance: smaller offsets are corrected, but such a clock may be wrong either way."""
        offset = self._clock.offset
        if abs(offset) > self._tolerance:
            now = self._clock.now()
            raise refuse(
                "clock_skew",
                here=_format_instant(now - offset),
                store=_format_instant(now),
                apart=f"{abs(offset).total_seconds():.1f}",
                most=_seconds(self._tolerance),
            )

    async def _check_alone(self, node: str, theirs: timedelta) -> None:
        others = [each for each in await self._store.nodes() if each.id != node and self._may_be_alive(each, theirs)]
        if others:
            names = [f"{each.id} ({each.host})" if each.host else each.id for each in others[:_MAX_NAMED]]
            raise refuse("other_lease", mine=_seconds(self._lease), theirs=_seconds(theirs), nodes=", ".join(names))

    def _may_be_alive(self, node: Node, lease: timedelta) -> bool:
        """Return whether a node may be alive. One that has not renewed for a whole lease has stopped its runs, or will first."""
        return not self._is_gone(node.home) and self._clock.now() - node.renewed <= lease


def _format_instant(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():g}"
