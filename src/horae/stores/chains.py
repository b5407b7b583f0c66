"""Chains in a transaction: ended occurrences are followed to the successors; links are kept on both tasks, and checked.

The algorithm is the same in every store; `ChainAccess` is the transaction. In memory and in SQLite its coroutines never
suspend.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from ..lifecycle.chain import (
    LinkDecision,
    OccurrenceEnd,
    ended_occurrences,
    follow_link,
    lose_predecessor,
    skip_root,
)
from ..lifecycle.chain_graph import check_links, descendants_among, links_of, neighbours_of
from ..model.chain_row import DEFAULT_CHAIN_LIMIT, MAX_DEPTH, ChainLimit, ChainRow, ChainState
from ..model.change import Change, Facts
from ..model.origin import RootOccurrence
from ..model.run import RunState
from ..model.task import Task, TaskState


class ChainAccess(Protocol):
    async def lock_owner(self, owner: str) -> None:
        """Lock the chains of an owner until the transaction ends: one transaction at a time edits links."""

    async def lock_tasks(self, task_ids: Sequence[str]) -> None:
        """Lock these tasks, in one order for all transactions, and load them."""

    def current_facts(self, task_id: str) -> Facts | None:
        """Return a locked task with all changes of this transaction, without lanes; None if it does not exist."""

    async def definitions(self, task_ids: Sequence[str]) -> list[Task]:
        """Return these tasks as they are defined, without a lock; absent ones are left out."""

    async def row(self, task_id: str, root: RootOccurrence) -> ChainRow | None: ...

    async def open_rows(self, task_id: str) -> list[ChainRow]: ...

    async def last_planned(self, task_id: str) -> datetime | None:
        """Return the latest planned instant of the rows of a task."""

    def apply(self, task_id: str, change: Change) -> None:
        """Apply a change to a locked task, without following its ends."""


def ignore_links(_changes: Sequence[Change]) -> None:
    """Observer of links of a store that is not observed."""


class Relink(NamedTuple):
    """A task whose links change: None before its creation and after its deletion. `now` is the instant of the change.

    `cancelled`: the task keeps its definition, and its predecessors forget it.
    """

    before: Task | None
    after: Task | None
    now: datetime
    cancelled: bool = False
    limit: ChainLimit = DEFAULT_CHAIN_LIMIT


def change_of_links(before: Task | None, change: Change) -> Relink | None:
    """Return the change of links of an edit, creation or deletion; None where there is none."""
    if before is not None and change.status is not None and change.status.state is TaskState.CANCELLED:
        is_linked = bool(links_of(before)) and bool(change.events)
        return Relink(before, before, change.events[-1].at, cancelled=True) if is_linked else None
    if change.task is None and not change.deleted:
        return None
    after = None if change.deleted else change.task
    if before is not None and after is not None:
        is_changed = before.schedule != after.schedule and bool(links_of(before) or links_of(after))
    else:
        present = before or after
        is_changed = present is not None and bool(neighbours_of(present))
    return Relink(before, after, change.events[-1].at, limit=change.chain_limit) if is_changed else None


async def relink(access: ChainAccess, relinked: Relink) -> list[OccurrenceEnd]:
    """Check new links, write them to the predecessors, and close what was waited for; return ends to be followed."""
    before, after, now, is_cancelled, limit = relinked
    former, current = links_of(before), frozenset[str]() if is_cancelled else links_of(after)
    task = after or before
    if task is None:
        return []
    await access.lock_owner(task.owner)
    if after is not None and current:
        check_links(after, await _collect(access, current | frozenset(after.successors), neighbours_of), limit)
    await access.lock_tasks(sorted({task.id, *(former ^ current), *(task.successors if after is None else ())}))
    for predecessor in sorted(former ^ current):
        facts = access.current_facts(predecessor)
        if facts is not None:
            successors = {*facts.task.successors} - {task.id} | ({task.id} if predecessor in current else set())
            access.apply(predecessor, Change(task=facts.task._replace(successors=tuple(sorted(successors)))))
    if before is None:
        return []
    return await _close_rows(access, before, now) if after is not None else await _delete_links(access, before, now)


async def _close_rows(access: ChainAccess, before: Task, now: datetime) -> list[OccurrenceEnd]:
    """Skip the root occurrences that an edited task still waited for."""
    ends: list[OccurrenceEnd] = []
    for row in await access.open_rows(before.id):
        facts = access.current_facts(before.id)
        if facts is not None:
            closed = row._replace(updated=now)
            decision = skip_root(facts._replace(task=before), closed, await access.last_planned(before.id))
            ends += _apply(access, facts, decision)
    return ends


async def _delete_links(access: ChainAccess, deleted: Task, now: datetime) -> list[OccurrenceEnd]:
    """Pause the successors of a deleted task; what they still wait for from it counts as skipped."""
    ends: list[OccurrenceEnd] = []
    for successor in deleted.successors:
        for row in await access.open_rows(successor):
            facts = access.current_facts(successor)
            if facts is not None and deleted.id in row.awaited:
                end = OccurrenceEnd(deleted.id, (), row.root, RunState.SKIPPED, None, now)
                planned = await access.last_planned(successor)
                ends += _apply(access, facts, follow_link(facts, row, end, (), planned))
        facts = access.current_facts(successor)
        if facts is not None:
            access.apply(successor, lose_predecessor(facts, deleted, now))
    return ends


async def follow_chains(access: ChainAccess, ends: Sequence[OccurrenceEnd]) -> None:
    """Apply the ends of occurrences to the successors of their tasks, level by level."""
    for _ in range(MAX_DEPTH):
        if not ends:
            return
        await access.lock_tasks(sorted({successor for end in ends for successor in end.successors}))
        following: list[OccurrenceEnd] = []
        for end in ends:
            for successor in sorted(end.successors):
                following += await _follow(access, successor, end)
        ends = following


async def _follow(access: ChainAccess, successor: str, end: OccurrenceEnd) -> list[OccurrenceEnd]:
    facts = access.current_facts(successor)
    if facts is None:
        return []
    row = await access.row(successor, end.root)
    awaited = await _find_awaited(access, facts.task, end) if row is None else ()
    decision = follow_link(facts, row, end, awaited, await access.last_planned(successor))
    return _apply(access, facts, decision)


def _apply(access: ChainAccess, facts: Facts, decision: LinkDecision) -> list[OccurrenceEnd]:
    """Apply a decision; return the ends that the successors of the task must know, if it has any."""
    change, skipped = decision
    access.apply(facts.task.id, change)
    if not facts.task.successors:
        return []
    return [*ended_occurrences(facts, change), *(() if skipped is None else (skipped,))]


async def _find_awaited(access: ChainAccess, task: Task, end: OccurrenceEnd) -> Collection[str]:
    """Return the predecessors of a task that will arrive for this root: those that descend from the root task."""
    predecessors = links_of(task)
    if len(predecessors) == 1 or end.task_id not in predecessors:
        return predecessors
    known = await _collect(access, predecessors, links_of)
    return descendants_among(predecessors, end.root.task_id, known)


async def _collect(
    access: ChainAccess, first: Iterable[str], neighbours: Callable[[Task], frozenset[str]]
) -> dict[str, Task]:
    """Return the definitions of these tasks and of all that are linked with them in these directions."""
    known: dict[str, Task] = {}
    missing, asked = set(first), set[str]()
    while missing:
        asked |= missing
        for task in await access.definitions(sorted(missing)):
            known[task.id] = task
        missing = {each for task in known.values() for each in neighbours(task)} - asked
    return known


def contradicting_links(tasks: Iterable[tuple[Task, TaskState | None]]) -> list[tuple[str, str]]:
    """Return the pairs of predecessor and successor that only one of both names.

    A cancelled task is no longer listed by its predecessors. A predecessor may also be absent, because it was deleted by
    force: the caller knows.
    """
    expected: set[tuple[str, str]] = set()
    listed: set[tuple[str, str]] = set()
    for task, state in tasks:
        if state is not TaskState.CANCELLED:
            expected.update((each, task.id) for each in links_of(task))
        listed.update((task.id, each) for each in task.successors)
    return sorted(expected ^ listed)


def describe_link(predecessor: str, successor: str) -> str:
    return f"The task {successor} and its predecessor {predecessor} disagree about their link."


def find_row_problems(rows: Iterable[ChainRow]) -> Iterator[str]:
    """Yield one sentence for each chain row that no sequence of ends leads to."""
    for row in rows:
        if row.state is ChainState.FIRED and row.planned is None:
            yield f"The task {row.task_id} has fired for the root {row.root.key}, but has no instant for it."
        elif row.state is ChainState.OPEN and {each.predecessor for each in row.arrivals}.issuperset(row.awaited):
            yield f"The task {row.task_id} waits for nothing more of the root {row.root.key}, but has not been decided."
