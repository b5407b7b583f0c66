"""Order in which tasks of a file are written: each after those that it runs after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ...schedule import After
from .task_request import TaskRequest, When

_T = TypeVar("_T")


def predecessors_of(when: When) -> tuple[str, ...]:
    """Return the tasks that a requested schedule names, as it names them."""
    if isinstance(when, After):
        return tuple(link.task for link in when.links)
    if not isinstance(when, Mapping) or when.get("kind") != After.kind:
        return ()
    links: Any = when.get("links")
    given = links if isinstance(links, list | tuple) else ()
    return tuple(str(link["task"]) for link in given if isinstance(link, Mapping) and "task" in link)


def chain_order(items: Sequence[_T], request_of: Callable[[_T], TaskRequest | None]) -> list[_T]:
    """Return the items with predecessors first; otherwise in their order. A cycle keeps its order, and is refused later."""
    by_name: dict[str, int] = {}
    for number, item in enumerate(items):
        request = request_of(item)
        for name in () if request is None else (request.name, request.key):
            if isinstance(name, str):
                by_name.setdefault(name, number)

    def predecessors(number: int) -> list[int]:
        request = request_of(items[number])
        names = () if request is None else predecessors_of(request.when)
        return [by_name[name] for name in names if name in by_name]

    return [items[number] for number in predecessor_order(len(items), predecessors)]


def predecessor_order(count: int, predecessors: Callable[[int], Iterable[int]]) -> list[int]:
    """Return the positions with predecessors first; otherwise in their order. A cycle keeps its order."""
    ordered: dict[int, None] = {}
    for first in range(count):
        path: list[tuple[int, Iterator[int]]] = [(first, iter(predecessors(first)))]
        on_path = {first}
        while path and first not in ordered:
            number, further = path[-1]
            position = next((each for each in further if each not in ordered and each not in on_path), None)
            if position is None:
                ordered[number] = None
                path.pop()
            else:
                on_path.add(position)
                path.append((position, iter(predecessors(position))))
    return list(ordered)
