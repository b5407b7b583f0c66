"""Runs that are carried come to an end: settled, given back, or recovered from a node that died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Generic, NamedTuple, TypeVar

from ...errors import StoreError
from ...model.change import Change, Facts, RunDecision, SettleDecision
from ...model.ids import microseconds
from ...model.outcome import Settlement
from ...model.run import LIVE, Run
from .gather import Definitions, Gathered, named
from .link import Link, Row
from .pending import Known, Pending
from .rows import RUN_WIDTH, STANDING_WIDTH, run_from
from .statements import sql

_T = TypeVar("_T")

_CARRIED: Final = sql("carried")
_CARRIED_BY: Final = sql("carried_by")
_START: Final = sql("start")
_RENEWALS: Final = sql("renewals")
_DROP_NODE: Final = sql("drop_node")

_ENTRIES: Final = RUN_WIDTH + STANDING_WIDTH
_LIVE: Final = _ENTRIES + 1


class _Wish(NamedTuple, Generic[_T]):
    """What is to become of a run, by whoever holds this token."""

    run_id: str
    token: int | None
    told: _T


class Carrier:
    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions

    def settle(self, link: Link, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return self._carry(link, [_Wish(each.run_id, each.token, each) for each in batch], decide)

    def release(self, link: Link, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return self._carry(link, [_Wish(*claim, None) for claim in claims], lambda facts, run, _: decide(facts, run))

    def recover(self, link: Link, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        if link.query(_RENEWALS, (node,)) != [(renewals,)]:
            return None
        carried = [row[0] for row in link.query(_CARRIED_BY, (node,))]

        def decide_and_look(facts: Facts, run: Run, _: None) -> Change:
            change = decide(facts, run)
            if not change.deleted and not any(_let_go(moved, run, node) for moved in change.moved):
                raise StoreError(f"The run {run.id} was to be recovered, but is still carried by {node}.")
            return change

        self._carry(link, [_Wish(run_id, None, None) for run_id in carried[:limit]], decide_and_look)
        if len(carried) <= limit:
            link.query(_DROP_NODE, (node,))
        return min(len(carried), limit)

    def start(self, link: Link, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        at = microseconds(now)
        return frozenset(row[0] for run_id, token in claims for row in link.query(_START, (at, run_id, token)))

    def _carry(
        self, link: Link, wishes: Sequence[_Wish[_T]], decide: Callable[[Facts, Run, _T], Change]
    ) -> frozenset[str]:
        stale: set[str] = set()
        rows = self._rows(link, [wish.run_id for wish in wishes])
        gathered = self._gather(link, list(rows.values()))
        pending = Pending()
        changed: set[int] = set()
        for run_id, token, told in wishes:
            row = rows.get(run_id)
            if row is not None and row[2] in changed:
                # The facts have changed since: this batch has already decided on another run of the task.
                pending.write(link)
                row = self._rows(link, [run_id]).get(run_id)
                gathered.refresh(self._gather(link, [] if row is None else [row]))
            if row is None or token not in (None, row[10]):
                stale.add(run_id)
                continue
            facts = gathered.facts(row[2], row[RUN_WIDTH:_ENTRIES])
            run = next(each for each in facts.live if each.id == run_id)
            pending.note(Known(row[2], row[RUN_WIDTH], facts), decide(facts, run, told), gathered)
            changed.add(row[2])
        pending.finish(link)
        return frozenset(stale)

    def _rows(self, link: Link, run_ids: Sequence[str]) -> dict[str, Row]:
        return {row[1]: row for row in link.query(_CARRIED, (named(run_ids),))} if run_ids else {}

    def _gather(self, link: Link, rows: Sequence[Row]) -> Gathered:
        gathered = Gathered(link, self._definitions, {row[2]: row[RUN_WIDTH] for row in rows})
        gathered.read_entries({row[2] for row in rows if row[_ENTRIES]})
        gathered.read_live({row[2] for row in rows if row[_LIVE] > 1})
        for row in rows:
            if row[_LIVE] == 1:
                gathered.live[row[2]] = (run_from(row, gathered.tasks[row[2]].id),)
                gathered.run_numbers[row[1]] = row[0]
        return gathered


def _let_go(moved: Run, run: Run, node: str) -> bool:
    return moved.id == run.id and (moved.state not in LIVE or moved.node != node)
