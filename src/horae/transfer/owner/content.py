"""Content of one owner in a store, page by page: tasks, chain rows, runs, log lines, streams, lanes and counters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ...model.accounts.system_owner import system_owner
from ...model.chain_row import ChainRow
from ...model.change import Facts
from ...model.counts import NO_HOUR, OUTCOME_RETAINED_HOURS, hour_of
from ...model.lanes.lane import owner_lane, owner_lane_prefix
from ...model.messages import Message, StreamState
from ...model.run import Run
from ...ports.full_store import FullStore
from ...ports.journal import NumberedLine
from ...ports.store import RunFilter, TaskFilter
from ...ports.transfer import ENDED, BlockedOwner, CounterValue, LaneLimit, Part, TransferItem
from ..digest import read_pages

PAGE_SIZE: Final = 200
_LATEST: Final = datetime(9_000, 1, 1, tzinfo=UTC)
_HOURS_PAGE: Final = 200
COMPARED_PARTS: Final = (
    Part.LANES,
    Part.BLOCKED_OWNERS,
    Part.TASKS,
    Part.CHAINS,
    Part.RUNS,
    Part.LINES,
    Part.STREAMS,
    Part.MESSAGES,
)
"""Parts of an owner in the order of their copy. Records are copied and compared apart (`records.py`); hourly counters are only
copied: each deployment removes old ones at its own time."""


def names_of(owner: str) -> tuple[str, str]:
    """Return the names under which an owner has tasks: its own, and that of the system tasks on its behalf."""
    return owner, system_owner(owner)


async def read_tasks(store: FullStore, owner: str) -> AsyncIterator[tuple[Facts, ...]]:
    for name in names_of(owner):
        after: str | None = None
        while True:
            page = await store.tasks(TaskFilter(name), after, PAGE_SIZE)
            if page.items:
                yield tuple(map(as_stored, page.items))
            after = page.after
            if after is None:
                break


def as_stored(facts: Facts) -> Facts:
    """Return the facts without what each store derives itself; entries and successors in one order in every store."""
    entries = tuple(sorted(facts.entries, key=lambda entry: entry.slot))
    task = facts.task._replace(successors=tuple(sorted(facts.task.successors)))
    return Facts(task, facts.status, entries, facts.live)


async def read_part(store: FullStore, owner: str, part: Part, now: datetime) -> AsyncIterator[Sequence[TransferItem]]:
    """Yield the pages of one part of an owner."""
    if part is Part.COUNTERS:
        yield await read_counters(store, owner, now)
    elif part in _READERS:
        async for page in _READERS[part](store, owner):
            yield page
    else:
        async for items, _ in read_pages(store, part):
            yield [item for item in items if _is_limit_of(owner, item)]


async def _read_all_chain_rows(store: FullStore, owner: str) -> AsyncIterator[Sequence[TransferItem]]:
    async for tasks in read_tasks(store, owner):
        for facts in tasks:
            yield await read_chain_rows(store, facts)


async def _read_all_lines(store: FullStore, owner: str) -> AsyncIterator[Sequence[TransferItem]]:
    async for runs in read_runs(store, owner):
        async for lines in read_lines(store, runs):
            yield lines


async def _read_all_streams(store: FullStore, owner: str) -> AsyncIterator[Sequence[TransferItem]]:
    yield [state async for state in read_streams(store, owner)]


async def _read_all_messages(store: FullStore, owner: str) -> AsyncIterator[Sequence[TransferItem]]:
    async for state in read_streams(store, owner):
        async for messages in read_messages(store, state):
            yield messages


async def read_runs(store: FullStore, owner: str) -> AsyncIterator[tuple[Run, ...]]:
    for name in names_of(owner):
        async for runs in read_filtered_runs(store, RunFilter(name, states=ENDED)):
            yield runs


async def read_filtered_runs(store: FullStore, run_filter: RunFilter) -> AsyncIterator[tuple[Run, ...]]:
    after: str | None = None
    while True:
        page = await store.runs(run_filter, after, PAGE_SIZE)
        if page.items:
            yield page.items
        after = page.after
        if after is None:
            return


async def read_lines(store: FullStore, runs: Sequence[Run]) -> AsyncIterator[tuple[NumberedLine, ...]]:
    for run in runs:
        after = 0
        while lines := await store.lines(run.id, after):
            yield lines
            after = lines[-1].number


async def read_chain_rows(store: FullStore, facts: Facts) -> Sequence[ChainRow]:
    """Return the chain rows of a task."""
    found: dict[str, ChainRow] = {}
    until = _LATEST
    while True:
        rows = await store.chain_rows(facts.task.id, until, PAGE_SIZE)
        known = len(found)
        found.update((row.root.key, row) for row in rows)
        if len(rows) < PAGE_SIZE or len(found) == known:
            return list(found.values())
        until = rows[-1].updated


async def read_streams(store: FullStore, owner: str) -> AsyncIterator[StreamState]:
    for name in names_of(owner):
        after: str | None = None
        while True:
            page = await store.streams(name, after, PAGE_SIZE)
            for stream in page.items:
                state = await store.stream(name, stream.name)
                if state is not None:
                    yield state
            after = page.after
            if after is None:
                break


async def read_messages(store: FullStore, state: StreamState) -> AsyncIterator[tuple[Message, ...]]:
    stream, after = state.stream, 0
    while True:
        page = await store.read_messages(stream.owner, stream.name, after, PAGE_SIZE)
        if page is None or not page.messages:
            return
        yield page.messages
        after = page.messages[-1].number


async def read_counters(store: FullStore, owner: str, now: datetime) -> list[CounterValue]:
    """Return the hourly counters of an owner. Those of task states follow from the tasks that are added."""
    last = hour_of(now)
    hours = range(last - OUTCOME_RETAINED_HOURS, last + 1)
    found: list[CounterValue] = []
    for name in names_of(owner):
        for first in range(0, len(hours), _HOURS_PAGE):
            counts = await store.counts(name, hours[first : first + _HOURS_PAGE])
            found += (CounterValue(name, *key, number) for key, number in counts.items() if number)
    return [counter for counter in found if counter.hour != NO_HOUR]


def _is_limit_of(owner: str, item: Any) -> bool:
    """Whether a limit or a block is the owner's own: of its lane, of its agents, or of a lane below its name."""
    match item:
        case LaneLimit(name=name) | BlockedOwner(owner=name):
            return name in (owner, owner_lane(owner)) or name.startswith(owner_lane_prefix(owner))
        case _:
            return False


_READERS: Final[dict[Part, Callable[[FullStore, str], AsyncIterator[Sequence[TransferItem]]]]] = {
    Part.TASKS: read_tasks,
    Part.CHAINS: _read_all_chain_rows,
    Part.RUNS: read_runs,
    Part.LINES: _read_all_lines,
    Part.STREAMS: _read_all_streams,
    Part.MESSAGES: _read_all_messages,
}
"""Readers of the parts that a store lists by owner; of the others the owner's rows are picked from all."""


_AT_ONCE: Final = 8


async def for_each_task(task_ids: Sequence[str], work: Callable[[str], Awaitable[object]]) -> None:
    """Do the work for each task, a few at the same time; the first error ends it."""
    for first in range(0, len(task_ids), _AT_ONCE):
        await asyncio.gather(*map(work, task_ids[first : first + _AT_ONCE]))
