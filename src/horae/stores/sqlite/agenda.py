"""What the dispatcher, the settler and the keeper ask of the store in SQLite."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from ...model.change import FireDecision, RunDecision, SettleDecision
from ...model.ids import microseconds
from ...model.outcome import Settlement
from ...model.reason import Reason
from ...ports.store import Claim, Extension, Node, Order
from ..codec.json_codecs import decode, instants
from ..codec.rows import node_from, node_values, span_microseconds
from .claim import Claimer
from .connection import Link
from .lane_state import named
from .readers import Readers
from .settle import Carrier
from .statements import sql
from .writer import Writer

_HEAD: Final = sql("head")
_SOMEBODY: Final = sql("somebody_at_the_door")
_ADMIT: Final = sql("admit")
_CARRIED_BY: Final = sql("carried_by")
_JOIN: Final = sql("join")
_EXTEND: Final = sql("extend")
_LEAVE: Final = sql("leave")


class SQLiteAgenda:
    _writer: Writer
    _readers: Readers
    _claimer: Claimer
    _carrier: Carrier

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        claimer = self._claimer
        return await self._writer.do(
            lambda link: claimer.claim(link, now, node, room, decide),
            glance=lambda link: claimer.glance(link, now, node, room),
        )

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        if not claims:
            return frozenset()
        given = tuple(claims)
        return await self._writer.do(lambda link: self._carrier.start(link, given, now))

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        if not batch:
            return frozenset()
        given = tuple(batch)
        return await self._writer.do(lambda link: self._carrier.settle(link, given, decide))

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        if not claims:
            return frozenset()
        given = tuple(claims)
        return await self._writer.do(lambda link: self._carrier.release(link, given, decide))

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        return await self._writer.do(lambda link: self._carrier.recover(link, node, renewals, decide, limit))

    async def admit(self, routes: Collection[str]) -> int:
        if not routes:
            return 0
        doors = named(sorted(routes))
        if not (await self._readers.ask(_SOMEBODY, (doors,)))[0][0]:
            return 0

        def work(link: Link) -> int:
            link.query(_ADMIT, (doors,))
            return link.changed

        return await self._writer.do(work)

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        return tuple((run_id, token) for run_id, token in await self._readers.ask(_CARRIED_BY, (node,)))

    async def join(self, node: Node) -> None:
        row = node_values(node)
        await self._writer.do(lambda link: link.query(_JOIN, row))

    async def extend(self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)) -> Extension:
        bindings = {"node": node, "now": microseconds(now), "load": load, "offset": span_microseconds(offset)}
        return await self._writer.do(lambda link: _extension(link, bindings), single=True)

    async def leave(self, node: str) -> None:
        await self._writer.do(lambda link: link.query(_LEAVE, {"node": node}))

    async def next_due(self) -> datetime | None:
        _, timed, ready = (await self._readers.ask(_HEAD, {"node": ""}))[0]
        return _earlier(timed, ready)


def _earlier(timed: int | None, ready: int | None) -> datetime | None:
    heads = [due for due in (timed, ready) if due is not None]
    return instants[min(heads)] if heads else None


def _extension(link: Link, bindings: dict[str, object]) -> Extension:
    rows = link.query(_EXTEND, bindings)
    if not rows:
        return Extension(held=False)
    draining, orders, nodes, timed, ready = rows[0]
    return Extension(
        held=True,
        orders=tuple(Order(run_id, Reason(reason)) for run_id, reason in decode(orders)),
        nodes=tuple(node_from(row) for row in decode(nodes)),
        next_due=_earlier(timed, ready),
        draining=bool(draining),
    )
