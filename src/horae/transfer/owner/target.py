"""The target of an owner's move: copies everything into it, compares, and starts the owner there."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...clock import Clock
from ...lifecycle.control.owner_move import is_held, release_task
from ...model.change import NOTHING, Change, Facts
from ...model.entry import EntryState
from ...model.events.event import REMOVED_EVENTS
from ...model.messages import StreamState
from ...model.task import PauseCause, Task
from ...ports.full_store import FullStore
from ...ports.records import Record
from ...ports.store import RunFilter
from ...ports.transfer import ENDED, TOKEN_MARK, HighWaterMark, Part
from ...schedule import Now
from ...service.accounts.owner_moves import OwnerMove
from ..digest import PartDigest, fingerprint, read_pages
from .content import (
    COMPARED_PARTS,
    as_stored,
    for_each_task,
    names_of,
    read_chain_rows,
    read_filtered_runs,
    read_lines,
    read_messages,
    read_part,
    read_streams,
    read_tasks,
)


class OwnerTarget:
    def __init__(self, store: FullStore, owner: str, clock: Clock) -> None:
        self._store = store
        self._owner = owner
        self._clock = clock

    async def has_content(self) -> bool:
        """Whether the owner has tasks or streams here."""
        async for _ in read_tasks(self._store, self._owner):
            return True
        async for _ in read_streams(self._store, self._owner):
            return True
        return False

    # --- copy ----------------------------------------------------------------------------------------------------------

    async def copy(self, source: FullStore) -> None:
        """Copy everything but records; a repeated copy replaces what the one before has written."""
        async for items, _ in read_pages(source, Part.MARKS):
            tokens = [item for item in items if isinstance(item, HighWaterMark) and item.name == TOKEN_MARK]
            await self._store.import_page(Part.MARKS, tokens)
        for part in (*COMPARED_PARTS, Part.COUNTERS):
            async for page in read_part(source, self._owner, part, self._clock.now()):
                if part is Part.TASKS:
                    await self._copy_tasks([item for item in page if isinstance(item, Facts)])
                elif page:
                    await self._store.import_page(part, page)
        await self._continue_event_numbers(source)

    async def copy_task_again(self, source: FullStore, task_id: str) -> None:
        """Copy a task that was changed after the copy, with its runs."""
        facts = await source.facts(task_id, None)
        if facts is None:
            return
        await self._copy_tasks([as_stored(facts)])
        await self._store.import_page(Part.CHAINS, await read_chain_rows(source, facts))
        async for runs in read_filtered_runs(source, RunFilter(task_id=task_id, states=ENDED)):
            await self._store.import_page(Part.RUNS, runs)
            async for lines in read_lines(source, runs):
                await self._store.import_page(Part.LINES, lines)

    async def copy_stream_again(self, source: FullStore, state: StreamState) -> None:
        """Copy a stream once more if it was changed after the copy."""
        stream = state.stream
        if await self._store.stream(stream.owner, stream.name) == state:
            return
        await self._copy_stream(source, state)

    async def _copy_stream(self, source: FullStore, state: StreamState) -> None:
        await self._store.import_page(Part.STREAMS, [state])
        async for messages in read_messages(source, state):
            await self._store.import_page(Part.MESSAGES, messages)

    async def _copy_tasks(self, tasks: Sequence[Facts]) -> None:
        """Write held tasks. An added task counts in the running totals; its links are written as they are afterwards."""
        known = await self._store.task_names([facts.task.id for facts in tasks], None)
        new = [facts for facts in tasks if facts.task.id not in known]
        if new:
            await self._store.add([Change(task=_unlinked(facts.task), status=facts.status) for facts in new])
        for facts in tasks:
            if facts.task.id in known:
                await self._count_state(facts)
        await self._store.import_page(Part.TASKS, tasks)

    async def _count_state(self, facts: Facts) -> None:
        """Move the running totals on to the state that a copied task has now."""
        copied = await self._store.facts(facts.task.id, None)
        if copied is not None and copied.status.state is not facts.status.state:
            await self._store.change(facts.task.id, None, lambda _: Change(status=facts.status))

    async def _continue_event_numbers(self, source: FullStore) -> None:
        """Let the numbers that the owner sees go on: its events count here as if retention had removed them."""
        names = names_of(self._owner)
        numbers = await source.owner_event_counts(names, await source.last_event())
        here = await self._store.owner_event_counts(names, await self._store.last_event())
        removed = await self._store.owner_event_counts(names, 0)
        for name in names:
            before = max(0, numbers.get(name, 0) - (here.get(name, 0) - removed.get(name, 0)))
            known = await self._store.get_record(REMOVED_EVENTS, name)
            record = Record(REMOVED_EVENTS, name, name, json.dumps(before))
            if before and (known is None or known.body != record.body):
                await self._store.put_record(record, replacing=None if known is None else known.version)

    # --- compare -------------------------------------------------------------------------------------------------------

    async def digest(self, store: FullStore, part: Part) -> PartDigest:
        """Read one part of the owner, here or at the source."""
        part_digest = PartDigest()
        async for page in read_part(store, self._owner, part, self._clock.now()):
            # Each task is hashed by itself: both stores list the owner's tasks in the same order, between others.
            part_digest = part_digest.add_items(Part.RECORDS if part is Part.TASKS else part, page)
        return part_digest

    async def read_task(self, task_id: str) -> int | None:
        """Return the fingerprint of the copy of a task, without its successors; None if it was not copied."""
        facts = await self._store.facts(task_id, None)
        return None if facts is None else definition_fingerprint(facts)

    # --- start, or give up -------------------------------------------------------------------------------------------

    async def start(self, move: OwnerMove) -> None:
        """Release every task."""
        now = self._clock.now()

        def release(facts: Facts) -> Change:
            return release_task(facts, move.since, now) if _is_waiting(facts) else NOTHING

        async for tasks in read_tasks(self._store, self._owner):
            waiting = [facts.task.id for facts in tasks if _is_waiting(facts)]
            await for_each_task(waiting, lambda task_id: self._store.change(task_id, None, release))

    async def clear(self, source: FullStore) -> None:
        """Remove the copy, when the move is given up. A stream that was copied in part is completed before."""
        async for tasks in read_tasks(self._store, self._owner):
            unlinked = [Facts(_unlinked(facts.task), facts.status) for facts in tasks]
            await self._store.import_page(Part.TASKS, unlinked)
            for facts in unlinked:
                await self._store.change(facts.task.id, None, lambda _: Change(deleted=True))
        async for state in read_streams(source, self._owner):
            if await self._store.stream(state.stream.owner, state.stream.name) is not None:
                await self._copy_stream(source, state)
                await self._store.delete_stream(state.stream.owner, state.stream.name)


def definition_fingerprint(facts: Facts) -> int:
    """Hash a task without its successors, which are removed before it."""
    stored = as_stored(facts)
    return fingerprint(stored._replace(task=stored.task._replace(successors=())))


def _is_waiting(facts: Facts) -> bool:
    """Whether a task is still held: a paused one was only put to sleep, and wakes only what ends its pause."""
    pause = facts.status.pause
    is_moving = pause is not None and pause.cause is PauseCause.OWNER_MOVING
    return is_moving or (is_held(facts) and any(entry.state is EntryState.ASLEEP for entry in facts.entries))


def _unlinked(task: Task) -> Task:
    """Return the task as one that follows no other, so that it can be added and removed in any order."""
    return task._replace(schedule=Now(zone=task.schedule.zone), successors=())
