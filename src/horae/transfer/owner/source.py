"""The source of an owner's move: fences and stops the owner there, and clears it away once it lives at the target."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Final

from ...clock import Clock
from ...lifecycle.control.owner_move import hold_task, is_held, release_task
from ...model.change import NOTHING, Change, Facts
from ...model.events.destination import DESTINATION_KIND
from ...model.events.event import Event, EventKind
from ...model.events.webhook import WEBHOOK_KIND
from ...model.run import LIVE_STATES
from ...ports.full_store import FullStore
from ...ports.store import RunFilter
from ...service.accounts.owner_moves import OwnerMove
from ...service.events.webhook_dispatcher import CURSOR_KEY
from ..refusals import refuse
from .content import for_each_task, names_of, read_streams, read_tasks
from .target import OwnerTarget, definition_fingerprint

_POLL_SECONDS: Final = 0.1


class OwnerSource:
    def __init__(self, store: FullStore, owner: str, clock: Clock, patience: timedelta) -> None:
        self._store = store
        self._owner = owner
        self._clock = clock
        self._patience = patience.total_seconds()

    # --- stop ----------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Hold every task, and wait until the live runs have ended and their events are on their way.

        A run that ends may still add an entry, such as a retry: hold again until a pass finds nothing to do.
        """
        until = self._clock.steady() + self._patience
        while True:
            is_idle = not await self._hold_all()
            live = await self._live_runs()
            if is_idle and not live:
                break
            if live:
                self._check_patience(until, live)
                await self._clock.pause(_POLL_SECONDS)
        await self._wait_for_deliveries(until)

    async def _hold_all(self) -> bool:
        """Hold the tasks that are not held yet; return whether there was one."""
        found = False
        async for tasks in read_tasks(self._store, self._owner):
            loose = [facts.task.id for facts in tasks if hold_task(facts, self._clock.now()) is not None]
            found = found or bool(loose)
            await for_each_task(loose, self._hold)
        return found

    async def _hold(self, task_id: str) -> None:
        await self._store.change(task_id, None, lambda facts: hold_task(facts, self._clock.now()) or NOTHING)

    async def _live_runs(self) -> list[str]:
        pages = [await self._store.runs(RunFilter(name, states=LIVE_STATES), limit=5) for name in names_of(self._owner)]
        return [run.id for page in pages for run in page.items]

    async def _wait_for_deliveries(self, until: float) -> None:
        """Wait until the dispatcher has read all events of the owner: what they cause is stored in records then."""
        pages = [await self._store.records(kind, self._owner, limit=1) for kind in (WEBHOOK_KIND, DESTINATION_KIND)]
        if not any(page.items for page in pages):
            return
        last = await self._store.last_event()
        while True:
            cursor = await self._store.get_record(*CURSOR_KEY)
            if cursor is None or int(json.loads(cursor.body)["number"]) >= last:
                return
            if self._clock.steady() >= until:
                raise refuse("owner_events_unread", owner=self._owner)
            await self._clock.pause(_POLL_SECONDS)

    def _check_patience(self, until: float, live: list[str]) -> None:
        if self._clock.steady() >= until:
            raise refuse("owner_runs_live", owner=self._owner, runs=", ".join(live))

    async def release(self, move: OwnerMove) -> None:
        """Let the owner go on here, when the move is given up."""
        now = self._clock.now()

        def release(facts: Facts) -> Change:
            return release_task(facts, move.since, now) if is_held(facts) else NOTHING

        async for tasks in read_tasks(self._store, self._owner):
            await for_each_task(
                [facts.task.id for facts in tasks], lambda task_id: self._store.change(task_id, None, release)
            )

    # --- clear ---------------------------------------------------------------------------------------------------------

    async def clear(self, target: OwnerTarget) -> None:
        """Remove streams and tasks, each compared with its copy once more; what has changed since is copied again.

        A task is compared and removed in one transaction, so nothing of it can start here once it may start there.
        """
        async for state in read_streams(self._store, self._owner):
            await target.copy_stream_again(self._store, state)
            await self._store.delete_stream(state.stream.owner, state.stream.name)
        while True:
            removed = left = 0
            async for tasks in read_tasks(self._store, self._owner):
                # A task that others run after is removed after them: without a predecessor they would be paused.
                ready = [facts.task.id for facts in tasks if not facts.task.successors]
                left += len(tasks) - len(ready)
                removed += len(ready)
                await for_each_task(ready, lambda task_id: self._clear_task(target, task_id))
            if not left:
                return
            if not removed:
                raise refuse("owner_chain_left", owner=self._owner)

    async def _clear_task(self, target: OwnerTarget, task_id: str) -> None:
        while True:
            copied = await target.read_task(task_id)
            changed: list[Facts] = []

            def remove(facts: Facts, copied: int | None = copied, changed: list[Facts] = changed) -> Change:
                changed.clear()
                if facts.live or definition_fingerprint(facts) != copied:
                    changed.append(facts)
                    return NOTHING
                deleted = Event(EventKind.TASK_DELETED, self._clock.now(), facts.task.owner, facts.task.id)
                return Change(deleted=True, events=(deleted,))

            await self._store.change(task_id, None, remove)
            if not changed:
                return
            if changed[0].live:
                await self._clock.pause(_POLL_SECONDS)
            await self._hold(task_id)
            await target.copy_task_again(self._store, changed[0].task.id)
