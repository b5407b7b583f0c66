"""Requests of a forecast as its engine can run them: gates open, node labels met, nothing sent, links by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from ..model.accounts.principal import LOCAL
from ..model.gate import Gate
from ..model.refusals import refuse
from ..schedule import After
from ..schedule.after import Link
from ..service.tasks.chain_order import predecessor_order
from ..service.tasks.task_request import NEVER, TaskRequest, names_predecessors, read_when
from .recording_store import make_target
from .request import ForecastRequest


class PreparedTask(NamedTuple):
    """`links` are the predecessors by their position, `absent` those that are no part of the forecast.

    `request` is None if nothing can start the task: none of its predecessors is there, or one of those that it needs.
    """

    request: TaskRequest | None
    after: After | None = None
    links: tuple[tuple[int, Link], ...] = ()
    absent: tuple[str, ...] = ()


class PreparedTasks(NamedTuple):
    """Tasks by position, the order in which they are created, and the names of those that something is assumed of."""

    tasks: tuple[PreparedTask, ...]
    order: tuple[int, ...]
    gated: tuple[str, ...]
    placed: tuple[str, ...]

    @property
    def predecessors(self) -> frozenset[int]:
        return frozenset(position for task in self.tasks for position, _link in task.links)


def prepare_tasks(request: ForecastRequest) -> PreparedTasks:
    """Prepare all requests; a predecessor is named by its id in the store, its key or its name, in any order."""
    positions = _Positions(request)
    tasks = tuple(_prepare(request, number, each, positions) for number, each in enumerate(request.task_requests))
    order = predecessor_order(len(tasks), lambda number: [position for position, _ in tasks[number].links])
    _check_cycles(request, tasks, order)
    named = [(each.name, each.options) for each in request.task_requests]
    return PreparedTasks(
        tasks,
        tuple(order),
        tuple(name for name, options in named if isinstance(options.gate, Gate)),
        tuple(name for name, options in named if options.where),
    )


def linked_request(prepared: PreparedTask, ids: Mapping[int, str]) -> TaskRequest | None:
    """Return the request with the ids of the created predecessors; None if nothing can start the task.

    `ids` has no predecessor that never fires itself.
    """
    request, after = prepared.request, prepared.after
    if request is None or after is None:
        return request
    links = tuple(link._replace(task=ids[position]) for position, link in prepared.links if position in ids)
    if not _can_start(after, links):
        return None
    return request._replace(when=replace(after, links=links))


class _Positions:
    """Finds the position of a task by owner and id, key or name; a task with the id or key wins over one with the name."""

    def __init__(self, request: ForecastRequest) -> None:
        self._found: dict[tuple[str, str], int] = {}
        ids = request.ids or (None,) * len(request.task_requests)
        for of_task in (
            lambda number, _each: ids[number],
            lambda _number, each: each.key,
            lambda _number, each: each.name,
        ):
            for number, each in enumerate(request.task_requests):
                name = of_task(number, each)
                if isinstance(name, str):
                    self._found.setdefault((_owner_of(each), name), number)

    def find(self, owner: str, name: str) -> int | None:
        return self._found.get((owner, name))


def _owner_of(request: TaskRequest) -> str:
    return LOCAL.owner if request.owner is None else request.owner


def _prepare(request: ForecastRequest, number: int, task_request: TaskRequest, positions: _Positions) -> PreparedTask:
    options = task_request.options
    simulated = task_request._replace(
        target=make_target(number),
        key=None,
        options=options._replace(
            gate=None if options.gate is None else NEVER,
            where=None,
            notify=None if options.notify is None else NEVER,
        ),
    )
    if not names_predecessors(task_request.when):
        return PreparedTask(simulated)
    after = _read_after(task_request, request.zone, request.start)
    owner = _owner_of(task_request)
    found = [(positions.find(owner, link.task), link) for link in after.links]
    links = {position: link for position, link in found if position is not None}
    absent = tuple(link.task for position, link in found if position is None)
    return PreparedTask(simulated, after, tuple(links.items()), absent)


def _read_after(request: TaskRequest, zone: str, now: datetime) -> After:
    schedule = read_when(request.when, request.zone or zone, now)
    if not isinstance(schedule, After):
        raise refuse("bad_when", value=type(schedule).__name__)
    return schedule


def _can_start(after: After, links: Sequence[Link]) -> bool:
    return len(links) == len(after.links) if after.mode == "all" else bool(links)


def _check_cycles(request: ForecastRequest, tasks: Sequence[PreparedTask], order: Sequence[int]) -> None:
    """Refuse a task that is created before one of its predecessors: it is part of a cycle."""
    rank = {number: place for place, number in enumerate(order)}
    for number, prepared in enumerate(tasks):
        for position, _link in prepared.links:
            if rank[position] >= rank[number]:
                path = [request.task_requests[each].name for each in _path(tasks, position, number)]
                raise refuse("chain_cycle", path=" → ".join(path))


def _path(tasks: Sequence[PreparedTask], start: int, end: int) -> list[int]:
    """Return the positions of a cycle: `end` after `start`, and so on up to `end` again."""
    walk, seen = [(start, [end])], {start}
    while walk:
        number, below = walk.pop()
        path = [number, *below]
        if number == end:
            return path
        for position, _link in tasks[number].links:
            if position not in seen or position == end:
                seen.add(position)
                walk.append((position, path))
    return [start, end]
