"""Runs that are carried come to an end: settled, given back, or recovered from a node that died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from ...errors import StoreError
from ...model.change import Change, Facts, RunDecision, SettleDecision
from ...model.ids import microseconds
from ...model.outcome import Settlement
from ...model.run import LIVE, Run
from ..task_cache import Familiar
from .connection import Link
from .lane_state import named
from .load_facts import Gathered, these
from .statements import sql
from .unit_of_work import Pending

_TASKS_OF_RUNS: Final = sql("tasks_of_runs")
_VERSIONS: Final = sql("versions")
_CARRIED_BY: Final = sql("carried_by")
_START: Final = sql("start")
_NEXT_VERSION: Final = sql("next_version")
_RENEWALS: Final = sql("renewals")
_DROP_NODE: Final = sql("drop_node")

Wish: TypeAlias = tuple[str, int | None, Any]
"""A run, the token under which it is carried (None: whichever), and what the decision is told."""


class Carrier:
    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar

    def settle(self, link: Link, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return self._carry(link, [(each.run_id, each.token, each) for each in batch], decide)

    def release(self, link: Link, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return self._carry(link, [(*claim, None) for claim in claims], lambda facts, run, _: decide(facts, run))

    def recover(self, link: Link, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        if link.query(_RENEWALS, (node,)) != [(renewals,)]:
            return None
        carried = [row[0] for row in link.query(_CARRIED_BY, (node,))]

        def decide_and_look(facts: Facts, run: Run, _: None) -> Change:
            change = decide(facts, run)
            if not change.deleted and not any(_let_go(moved, run, node) for moved in change.moved):
                raise StoreError(f"The run {run.id} was to be recovered, but is still carried by {node}.")
            return change

        self._carry(link, [(run_id, None, None) for run_id in carried[:limit]], decide_and_look)
        if len(carried) <= limit:
            link.query(_DROP_NODE, (node,))
        return min(len(carried), limit)

    def start(self, link: Link, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        at = microseconds(now)
        started = [row for run_id, token in claims for row in link.query(_START, (at, run_id, token))]
        link.write_each(_NEXT_VERSION, [(task,) for _, task in started])
        return frozenset(run_id for run_id, _ in started)

    def _carry(self, link: Link, wishes: Sequence[Wish], decide: Callable[[Facts, Run, Any], Change]) -> frozenset[str]:
        stale: set[str] = set()
        tasks = self._tasks_of(link, [wish[0] for wish in wishes])
        gathered = self._gather(link, tasks)
        pending = Pending(link, self._familiar)
        for run_id, token, told in wishes:
            known = gathered.known.get(tasks.get(run_id, 0))
            run = None if known is None else known.run(run_id)[0]
            if known is None or run is None or token not in (None, run.token):
                stale.add(run_id)
                continue
            entries = gathered.entries.get(known.number, ())
            change = decide(gathered.facts(known, entries), run, told)
            if change.born:
                change = pending.only_new(known.number, change)
            pending.note(known, entries, change, gathered)
            if change.put or change.dropped:
                gathered.entries_after(known.number, change, entries)
        pending.finish()
        return frozenset(stale)

    def _tasks_of(self, link: Link, run_ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the tasks of these runs, as far as they are live."""
        found = self._familiar.tasks_of(run_ids)
        if len(found) < len(run_ids):
            strangers = [run_id for run_id in run_ids if run_id not in found]
            found.update(link.query(_TASKS_OF_RUNS, (named(strangers),)) if strangers else ())
        return found

    def _gather(self, link: Link, tasks: dict[str, int]) -> Gathered:
        numbers = dict.fromkeys(tasks.values())
        rows = link.query(_VERSIONS, (these(numbers),)) if numbers else []
        gathered = Gathered(link, self._familiar, {number: version for number, version, _ in rows})
        gathered.read_entries([number for number, _, entries in rows if entries])
        return gathered


def _let_go(moved: Run, run: Run, node: str) -> bool:
    return moved.id == run.id and (moved.state not in LIVE or moved.node != node)
