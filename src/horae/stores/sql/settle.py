"""Runs that are carried come to an end: settled, given back, or recovered from a node that died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from ...errors import StoreError
from ...model.change import NOTHING, Change, Facts, RunDecision, SettleDecision
from ...model.outcome import Settlement
from ...model.run import LIVE, Run, RunState
from ..task_cache import Familiar
from .connection import Link
from .load_facts import Gathered
from .transactions import Session
from .unit_of_work import Draft

Wish: TypeAlias = tuple[str, int | None, Any]
"""A run, the token under which it is carried (None: whichever), and what the decision is told."""
Told: TypeAlias = Callable[[Facts, Run, Any], Change]


class Carrier:
    def __init__(self, session: Session, familiar: Familiar) -> None:
        self._session = session
        self._familiar = familiar

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        return await self._carry([(each.run_id, each.token, each) for each in batch], decide)

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        return await self._carry([(*claim, None) for claim in claims], lambda facts, run, _: decide(facts, run))

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        started: set[str] = set()

        def begin(_: Facts, run: Run, __: None) -> Change:
            if run.state is not RunState.CLAIMED or run.cancel is not None:
                return NOTHING
            started.add(run.id)
            return Change(moved=(run._replace(state=RunState.RUNNING, started=now),))

        async def work(link: Link) -> Draft:
            # What began in a transaction that was tried again did not.
            started.clear()
            return (await self._carry_in(link, [(*claim, None) for claim in claims], begin))[1]

        draft = await self._session.transact(work)
        draft.learnt_by(self._familiar)
        return frozenset(started)

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        def decide_and_look(facts: Facts, run: Run, _: None) -> Change:
            change = decide(facts, run)
            if not change.deleted and not any(_let_go(moved, run, node) for moved in change.moved):
                raise StoreError(f"The run {run.id} was to be recovered, but is still carried by {node}.")
            return change

        async def work(link: Link) -> tuple[int, Draft] | None:
            # Held until the end: a node that only seemed to be dead can claim nothing meanwhile.
            if await link.query("hold_node", node) != [(renewals,)]:
                return None
            carried = [row[0] for row in await link.query("carried_by", node)]
            wishes = [(run_id, None, None) for run_id in carried[:limit]]
            _, draft = await self._carry_in(link, wishes, decide_and_look)
            if len(carried) <= limit:
                await link.query("drop_node", node)
            return min(len(carried), limit), draft

        written = await self._session.transact(work)
        if written is None:
            return None
        recovered, draft = written
        draft.learnt_by(self._familiar)
        return recovered

    async def _carry(self, wishes: Sequence[Wish], decide: Told) -> frozenset[str]:
        stale, draft = await self._session.transact(lambda link: self._carry_in(link, wishes, decide))
        draft.learnt_by(self._familiar)
        return stale

    async def _carry_in(self, link: Link, wishes: Sequence[Wish], decide: Told) -> tuple[frozenset[str], Draft]:
        """Which of them are stale, and what was written: of a transaction that is tried again, only the last try is."""
        stale: set[str] = set()
        tasks = await self._tasks_of(link, [wish[0] for wish in wishes])
        gathered = await self._gather(link, tasks)
        draft = Draft(gathered)
        for run_id, token, told in wishes:
            known = gathered.known.get(tasks.get(run_id, 0))
            run = None if known is None else known.run(run_id)[0]
            if known is None or run is None or token not in (None, run.token):
                stale.add(run_id)
                continue
            entries = gathered.entries.get(known.number, ())
            change = decide(gathered.facts(known, entries), run, told)
            if change.born:
                change = await draft.only_new(link, known.number, change)
            draft.note(known, entries, change)
            if change.put or change.dropped:
                gathered.entries_after(known.number, change, entries)
        await draft.finish(link)
        return frozenset(stale), draft

    async def _tasks_of(self, link: Link, run_ids: Sequence[str]) -> dict[str, int]:
        """The numbers of the tasks of these runs, as far as they are live."""
        found = self._familiar.tasks_of(run_ids)
        if len(found) < len(run_ids):
            strangers = [run_id for run_id in run_ids if run_id not in found]
            found.update(await link.query("tasks_of_runs", strangers))
        return found

    async def _gather(self, link: Link, tasks: dict[str, int]) -> Gathered:
        numbers = sorted(set(tasks.values()))
        rows = await link.query("hold", numbers) if numbers else []
        gathered = Gathered(self._familiar, {number: version for number, version, _ in rows})
        alone = all(row[2] for row in rows)
        await gathered.read_tasks(link)
        await gathered.read_entries(link, list(gathered.known))
        await gathered.read_surroundings(link, alone=alone)
        return gathered


def _let_go(moved: Run, run: Run, node: str) -> bool:
    return moved.id == run.id and (moved.state not in LIVE or moved.node != node)
