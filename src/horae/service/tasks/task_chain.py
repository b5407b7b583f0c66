"""The chain of a task: the tasks that it runs after and those that run after it, as a list and as a tree.

Links are read from the tasks that have them, so that a reader without some of the tasks gets the rest of the chain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from ...lifecycle.chain_graph import links_of
from ...model.change import Facts
from ...schedule import After

MAX_CHAIN_TASKS: Final = 500
"""Tasks of one chain that are read; a chain may fan out at every level."""


class TaskChain(NamedTuple):
    """Tasks with predecessors first. `cut`: there are more tasks than were read."""

    tasks: tuple[Facts, ...]
    cut: bool = False


class ChainNode(NamedTuple):
    """A task of a tree. `on` is the end of its parent that fires it; `is_repeated`: shown above, with its successors."""

    facts: Facts
    on: str | None
    mode: str | None
    successors: tuple[ChainNode, ...] = ()
    is_repeated: bool = False


async def load_task_chain(read: Callable[[str], Awaitable[Facts | None]], facts: Facts) -> TaskChain:
    """Read what a task descends from, and what descends from it; `read` returns None for what the caller may not see."""
    found = {facts.task.id: facts}
    above = await _follow(read, found, facts, lambda each: links_of(each.task))
    below = await _follow(read, found, facts, lambda each: each.task.successors)
    return TaskChain(_in_order(found.values()), cut=above or below)


async def _follow(
    read: Callable[[str], Awaitable[Facts | None]],
    found: dict[str, Facts],
    start: Facts,
    neighbours: Callable[[Facts], Iterable[str]],
) -> bool:
    """Add to `found` everything that is reached from `start`; return whether something was left out."""
    waiting, tried = [start], set(found)
    while waiting:
        for task_id in sorted(neighbours(waiting.pop(0))):
            if task_id in tried:
                continue
            if len(found) == MAX_CHAIN_TASKS:
                return True
            tried.add(task_id)
            facts = await read(task_id)
            if facts is not None:
                found[task_id] = facts
                waiting.append(facts)
    return False


def _in_order(found: Iterable[Facts]) -> tuple[Facts, ...]:
    """Return the tasks by creation, but each after those that it runs after."""
    left = sorted(found, key=lambda each: (each.task.created, each.task.id))
    known = {each.task.id for each in left}
    placed: dict[str, Facts] = {}
    while left:
        ready = [each for each in left if links_of(each.task) & known <= placed.keys()] or left
        placed |= {each.task.id: each for each in ready}
        left = [each for each in left if each.task.id not in placed]
    return tuple(placed.values())


def build_tree(chain: TaskChain, root_id: str) -> ChainNode:
    """Return what runs after a task of the chain, level by level; a task that is reached twice is expanded once."""
    facts = next(each for each in chain.tasks if each.task.id == root_id)
    return _node(chain, facts, None, set())


def _node(chain: TaskChain, facts: Facts, parent: str | None, seen: set[str]) -> ChainNode:
    task, on, mode = facts.task, None, None
    if isinstance(task.schedule, After) and parent is not None:
        on = next((link.on for link in task.schedule.links if link.task == parent), None)
        mode = task.schedule.mode if len(task.schedule.links) > 1 else None
    if task.id in seen:
        return ChainNode(facts, on, mode, is_repeated=True)
    seen.add(task.id)
    following = [each for each in chain.tasks if task.id in links_of(each.task)]
    return ChainNode(facts, on, mode, tuple(_node(chain, each, task.id, seen) for each in following))


def roots_of(chain: TaskChain) -> tuple[Facts, ...]:
    """Return the tasks of the chain that run after none of its others."""
    known = {each.task.id for each in chain.tasks}
    return tuple(each for each in chain.tasks if not links_of(each.task) & known)
