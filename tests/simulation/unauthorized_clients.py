"""Simulated clients that call tasks of other owners; their answers are recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

from horae.errors import Refusal, StoreError
from horae.model.accounts.principal import Principal
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.ports.store import RunFilter, TaskFilter
from horae.service.tasks.tasks import Tasks
from horae.virtual_time import VirtualClock
from tests.simulation.drafts import OWNERS
from tests.simulation.faults import Link
from tests.simulation.faulty_store import behind
from tests.simulation.history import ForeignCall, History


class UnauthorizedClients:
    def __init__(self, store: FullStore, link: Link, clock: VirtualClock, history: History, dice: Random) -> None:
        self._inner = store
        self._clock = clock
        self._history = history
        self._dice = dice
        self._service = Tasks(behind(store, link, history), clock)

    async def call_foreign_task(self, task: Task) -> None:
        """Make the same call on a foreign task and on an absent one, and record both answers."""
        who = Principal(self._dice.choice([*(owner for owner in OWNERS if owner != task.owner), "a stranger"]))
        absent = make_id("tsk", self._clock.now(), self._dice.randbytes(ENTROPY_BYTES))
        verb, ask = self._dice.choice(self._calls(who))
        with suppress(StoreError):
            foreign, nobodys = await _answer_text(ask, task.id), await _answer_text(ask, absent)
            self._history.foreign_calls.append(ForeignCall(who.owner, verb, task.id, foreign, nobodys))
        await self._read_lists(who)

    def _calls(self, who: Principal) -> list[tuple[str, Callable[[str], Awaitable[object]]]]:
        service = self._service
        return [
            ("get", lambda task_id: service.get(who, task_id)),
            ("pause", lambda task_id: service.pause(who, task_id)),
            ("run now", lambda task_id: service.run_now(who, task_id)),
            ("skip", lambda task_id: service.skip_next(who, task_id)),
            ("cancel", lambda task_id: service.cancel(who, task_id)),
        ]

    async def _read_lists(self, who: Principal) -> None:
        """Read all lists and record the owners in them."""
        tasks = (await self._inner.tasks(TaskFilter(owner=who.owner_filter), limit=1_000)).items
        runs = (await self._inner.runs(RunFilter(owner=who.owner_filter), limit=50)).items
        events = await self._inner.events(0, 50, who.owner_filter)
        owners = {*(facts.task.owner for facts in tasks), *(run.owner for run in runs)}
        owners.update(event.owner for _, event in events)
        self._history.seen_by.setdefault(who.owner, set()).update(owners)


async def _answer_text(ask: Callable[[str], Awaitable[object]], task_id: str) -> str:
    """Text of the refusal without the id; empty if the call succeeded."""
    try:
        await ask(task_id)
    except Refusal as refusal:
        return f"{refusal.code}: {refusal}".replace(task_id, "it")
    return ""
