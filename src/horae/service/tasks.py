"""Tasks in and out: made, found, paused, resumed, edited, cancelled, run now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final, TypeVar

from ..clock import Clock
from ..errors import Refusal
from ..lifecycle import control, editing
from ..lifecycle.plan import Draft, drafted, plan
from ..model.change import Change, ControlDecision, Facts
from ..model.entry import CLAIMABLE
from ..model.ids import ENTROPY, named, rising
from ..model.limits import BULK_TASKS
from ..model.policy import MissedMode
from ..model.principal import Principal
from ..model.refusals import refuse
from ..model.task import PauseCause, Task
from ..ports.store import Book
from ..schedule import Schedule
from .wishes import Wish, read_policies, read_when

_T = TypeVar("_T")

_BETWEEN_TURNS: Final = 64
"""So many tasks are planned before others have their turn: about two milliseconds."""


class Tasks:
    """`told` is called after each write with the first instant at which something may be due: the engine listens."""

    def __init__(
        self,
        book: Book,
        clock: Clock,
        zone: str | None = None,
        told: Callable[[datetime | None], None] = lambda _due: None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._book = book
        self._clock = clock
        self._zone = zone
        self._told = told
        self._entropy = entropy

    async def create(self, who: Principal, wish: Wish) -> Task:
        """A new task; with a key, the one that has it is edited instead."""
        if wish.key is not None:
            return await self.declare(who, wish)
        now = self._clock.now()
        (task,) = await self._add([plan(self._drafted(who, wish, now), self._new_id(now), now)])
        return task

    async def create_many(self, who: Principal, wishes: Iterable[Wish], keep: Callable[[Task], _T]) -> list[_T]:
        """All or none up to a thousand; more are written in chunks of that size, each all or none. `keep` what of each?

        Every wish is checked before the first chunk is written, so that only the store itself can stop halfway.
        """
        changes = await self._planned_many(who, wishes)
        made: list[_T] = []
        while changes:
            made += map(keep, await self._add(changes[:BULK_TASKS]))
            # What is written is let go of chunk by chunk: to free it all at once would hold everything up.
            del changes[:BULK_TASKS]
        return made

    async def _add(self, changes: Sequence[Change]) -> list[Task]:
        await self._book.add(changes)
        self._told(min(entry.due for change in changes for entry in change.put))
        return [change.task for change in changes if change.task is not None]

    async def _planned_many(self, who: Principal, wishes: Iterable[Wish]) -> list[Change]:
        """Read at one instant, so that the same words mean the same; runs that are due have their turn in between."""
        now = self._clock.now()
        names = rising("tsk", now, self._entropy)
        known: dict[tuple[str, str | None], Schedule] = {}
        changes: list[Change] = []
        try:
            for wish in wishes:
                if len(changes) % _BETWEEN_TURNS == _BETWEEN_TURNS - 1:
                    await self._clock.pause(0)
                if isinstance(wish.when, str):
                    said = wish.when, wish.zone or self._zone
                    if said not in known:
                        known[said] = read_when(*said, now)
                    wish = wish._replace(when=known[said])
                changes.append(plan(self._drafted(who, wish, now), next(names), now))
        except Refusal as refusal:
            refusal.add_note(f"This was number {len(changes) + 1}; nothing was written.")
            raise
        return changes

    async def declare(self, who: Principal, wish: Wish) -> Task:
        """The task with this natural key, made or edited: saying the same twice changes nothing."""
        if wish.key is None:
            raise refuse("bad_text", name="key", value=None, most=200)
        now = self._clock.now()
        draft = self._drafted(who, wish, now)
        task_id = self._new_id(now)
        facts = await self._book.upsert(draft.owner, wish.key, lambda found: _declared(found, draft, task_id, now))
        self._told(_first_due(facts))
        return facts.task

    async def get(self, who: Principal, task_id: str) -> Facts:
        facts = await self._book.facts(task_id, who.scope)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        return facts

    async def pause(
        self,
        who: Principal,
        task_id: str,
        *,
        cause: PauseCause = PauseCause.REQUESTED,
        note: str = "",
        until: datetime | None = None,
    ) -> Facts:
        now = self._clock.now()
        return await self._change(
            who, task_id, lambda facts: control.pause(facts, now, cause=cause, note=note, until=until)
        )

    async def resume(self, who: Principal, task_id: str, missed: MissedMode = "skip") -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.resume(facts, now, missed))

    async def cancel(self, who: Principal, task_id: str) -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.cancel(facts, now))

    async def delete(self, who: Principal, task_id: str) -> None:
        now = self._clock.now()
        await self._change(who, task_id, lambda facts: control.delete(facts, now))

    async def run_now(self, who: Principal, task_id: str) -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.run_now(facts, now))

    async def skip_next(self, who: Principal, task_id: str, wanted: int = 1) -> Facts:
        return await self._change(who, task_id, lambda facts: control.skip_next(facts, wanted))

    async def backfill(self, who: Principal, task_id: str, first: datetime, last: datetime) -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: editing.backfill(facts, first, last, now))

    async def cancel_run(self, who: Principal, task_id: str, run_id: str) -> Facts:
        now = self._clock.now()
        return await self._change(who, task_id, lambda facts: control.cancel_run(facts, run_id, now))

    async def _change(self, who: Principal, task_id: str, decide: ControlDecision) -> Facts:
        facts = await self._book.change(task_id, who.scope, decide)
        if facts is None:
            raise refuse("no_such_task", id=task_id)
        self._told(None)
        return facts

    def _drafted(self, who: Principal, wish: Wish, now: datetime) -> Draft:
        owner = who.owner if wish.owner is None else wish.owner
        if owner != who.owner and not who.admin:
            raise refuse("foreign_owner", owner=owner)
        schedule = read_when(wish.when, wish.zone or self._zone, now)
        policies = read_policies(schedule, wish.options)
        return Draft(owner, wish.name, schedule, wish.target, wish.payload, policies, wish.key, wish.lane, wish.labels)

    def _new_id(self, now: datetime) -> str:
        return named("tsk", now, self._entropy(ENTROPY))


def _declared(found: Facts | None, draft: Draft, task_id: str, now: datetime) -> Change:
    if found is None:
        return plan(draft, task_id, now)
    before = found.task
    wanted = drafted(draft, before.id, before.created)._replace(version=before.version)
    return Change() if wanted == before else editing.edit(found, wanted, now)


def _first_due(facts: Facts) -> datetime | None:
    return min((entry.due for entry in facts.entries if entry.stand in CLAIMABLE), default=None)
