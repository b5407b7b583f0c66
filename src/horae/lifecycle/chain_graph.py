"""Checks of a chain before it is stored: predecessors exist, no cycle, bounded depth and fan-out, joins of one root."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import Refusal
from ..model.chain_row import MAX_DEPTH, MAX_SUCCESSORS
from ..model.refusals import refuse
from ..model.task import Task
from ..schedule import After


def links_of(task: Task | None) -> frozenset[str]:
    """Return the ids of the tasks that this one runs after."""
    schedule = None if task is None else task.schedule
    return schedule.predecessors if isinstance(schedule, After) else frozenset()


def neighbours_of(task: Task) -> frozenset[str]:
    """Return the ids of the tasks that are linked with this one."""
    return links_of(task).union(task.successors)


def check_links(task: Task, known: Mapping[str, Task]) -> None:
    """Refuse a task whose links cannot be stored; `known` are all tasks of the chains that it would be part of."""
    for predecessor in sorted(links_of(task)):
        former = known.get(predecessor)
        if former is None or former.owner != task.owner:
            raise refuse("unknown_predecessor", task=predecessor)
        if len({*former.successors, task.id}) > MAX_SUCCESSORS:
            raise refuse("too_many_successors", name=former.name, most=MAX_SUCCESSORS)
    graph = _Graph({**known, task.id: task})
    graph.check(task)


def descendants_among(candidates: Iterable[str], root: str, known: Mapping[str, Task]) -> frozenset[str]:
    """Return the candidates that are the root task or descend from it."""
    graph = _Graph(known)
    return frozenset(each for each in candidates if each == root or root in graph.ancestors(each))


class _Graph:
    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._tasks = tasks
        self._ancestors: dict[str, frozenset[str]] = {}
        self._depths: dict[str, int] = {}

    def check(self, task: Task) -> None:
        self._check_acyclic(task)
        for each in self._tasks.values():
            if each.id == task.id or task.id in self.ancestors(each.id):
                self._check_member(each)

    def ancestors(self, task_id: str) -> frozenset[str]:
        """Return the ids of all tasks that this one descends from."""
        known = self._ancestors.get(task_id)
        if known is None:
            found: set[str] = set()
            for each in links_of(self._tasks.get(task_id)):
                found |= {each, *self.ancestors(each)}
            known = self._ancestors[task_id] = frozenset(found)
        return known

    def _depth(self, task_id: str) -> int:
        """Return the number of links from the first task of the longest chain to this one."""
        known = self._depths.get(task_id)
        if known is None:
            links = links_of(self._tasks.get(task_id))
            known = self._depths[task_id] = 1 + max(map(self._depth, links)) if links else 0
        return known

    def _check_acyclic(self, task: Task) -> None:
        """Walk upwards from the task with the path: the stored chains have no cycle, so a cycle leads back to it."""
        walk: list[tuple[str, tuple[str, ...]]] = [
            (predecessor, (predecessor,)) for predecessor in sorted(links_of(task))
        ]
        seen: set[str] = set()
        while walk:
            task_id, path = walk.pop()
            if task_id == task.id:
                raise self._cycle(task, path)
            if task_id not in seen:
                seen.add(task_id)
                walk += [(each, (*path, each)) for each in sorted(links_of(self._tasks.get(task_id)))]

    def _cycle(self, task: Task, path: tuple[str, ...]) -> Refusal:
        names = [task.name, *(self._tasks[each].name for each in path)]
        return refuse("chain_cycle", path=" → ".join(reversed(names)))

    def _check_member(self, task: Task) -> None:
        depth = self._depth(task.id)
        if depth > MAX_DEPTH:
            raise refuse("chain_too_deep", name=task.name, depth=depth, most=MAX_DEPTH)
        if isinstance(task.schedule, After) and task.schedule.mode == "all":
            roots = {each for each in self.ancestors(task.id) if not links_of(self._tasks.get(each))}
            if len(roots) > 1:
                names = sorted(former.name for each in roots if (former := self._tasks.get(each)) is not None)
                raise refuse("join_of_several_roots", name=task.name, roots=", ".join(names))
