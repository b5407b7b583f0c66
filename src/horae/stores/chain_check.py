"""Integrity check of chains, for all stores: links that only one of two tasks knows, and chain rows that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..lifecycle.chain_graph import links_of
from ..model.chain_row import ChainRow, ChainState
from ..model.task import Task, TaskState


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
