"""Order in which tasks of a file are written: each after those that it runs after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    ordered: dict[int, _T] = {}
    open_numbers: set[int] = set()

    def visit(number: int) -> None:
        if number in ordered or number in open_numbers:
            return
        open_numbers.add(number)
        request = request_of(items[number])
        for name in () if request is None else predecessors_of(request.when):
            if name in by_name:
                visit(by_name[name])
        ordered[number] = items[number]

    for number in range(len(items)):
        visit(number)
    return list(ordered.values())
