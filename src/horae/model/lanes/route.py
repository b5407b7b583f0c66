"""Route of a task: the function or target kind, and the labels, that a node must have to claim its entries.

An entry of a task without labels is on the agenda of all nodes; a node that lacks its function parks it at its route. An
entry of a task with labels (`where`) is in the queue of its route from the beginning: only nodes that serve the route read
this queue, so the claims of other nodes neither see nor delay it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ..entry import CLAIMABLE, CONTROL_KINDS, Entry, EntryState
from ..limits import NAME_CHARACTERS
from ..task import Target, Task, gate_target
from .node_labels import LabelPairs, format_labels, has_labels

if TYPE_CHECKING:
    from ..change import Change  # which imports lanes, and these the routes

_FUNCTION: Final = "function"
QUEUE_PREFIX: Final = "where:"
"""Prefix of the queues of entries whose task requires labels."""
PARKING_PREFIXES: Final = (f"{_FUNCTION}:", "target:")
"""Prefixes of the routes at which entries are parked."""
ROUTE_PREFIXES: Final = (*PARKING_PREFIXES, QUEUE_PREFIX)
"""Name prefixes of all routes."""
_MAX_CACHED: Final = 4_096
_QUEUE_ROUTE_CHARACTERS: Final = 40
"""Characters of a route within the name of a queue; the rest of a longer one is replaced by its digest."""
_DIGEST_CHARACTERS: Final = 16
_routes: dict[Target, str] = {}


def function_route(name: str) -> str:
    """Return the route of a function. A name that is too long or has lone surrogates is made storable: no function has such
    a name, but a task may refer to one."""
    return f"{_FUNCTION}:{name[:NAME_CHARACTERS].encode(errors='replace').decode()}"


def kind_route(kind: str) -> str:
    return f"target:{kind}"


def route_of(target: Target) -> str:
    """Return the route of a target, from a bounded cache: many tasks share few targets."""
    route = _routes.get(target)
    if route is None:
        if len(_routes) >= _MAX_CACHED:
            _routes.clear()
        route = _routes[target] = _derive_route(target)
    return route


def missing_route(task: Task, routes: frozenset[str]) -> str | None:
    """Return the route of the task's target, or of its gate, that is not among these; None if both are."""
    route = route_of(task.target)
    if route not in routes:
        return route
    gate = task.policies.gate
    if gate is None:
        return None
    gate_route = route_of(Target(gate.kind, gate.spec))
    return None if gate_route in routes else gate_route


def _derive_route(target: Target) -> str:
    if target.kind != _FUNCTION:
        return kind_route(target.kind)
    try:
        name = json.loads(target.spec)["name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        name = ""
    return function_route(str(name))


def is_route(lane: str | None) -> bool:
    """Return whether an entry is parked on a route, waiting for a capable node, and not in a full lane."""
    return lane is not None and lane.startswith(ROUTE_PREFIXES)


# --- queues of routes with labels ----------------------------------------------------------------------------------


def queue_of(task: Task) -> str:
    """Return the queue of the task's entries: its labels, its route, and that of its gate."""
    gate = gate_target(task.policies)
    routes = (route_of(task.target),) if gate is None else (route_of(task.target), route_of(gate))
    return ";".join([QUEUE_PREFIX + format_labels(task.policies.where), *map(_shorten_route, routes)])


def is_queue(lane: str | None) -> bool:
    return lane is not None and lane.startswith(QUEUE_PREFIX)


def labels_of_queue(queue: str) -> LabelPairs:
    """Return the labels that a node must have to read this queue."""
    pairs = queue.removeprefix(QUEUE_PREFIX).partition(";")[0].split(",")
    return tuple((name, value) for name, _, value in (pair.partition("=") for pair in pairs))


def describe_route(route: str) -> str:
    """Return what a node must have: the labels of a queue, else the function or the kind of target."""
    return format_labels(labels_of_queue(route)) if is_queue(route) else route.removeprefix(f"{_FUNCTION}:")


def place_entry(task: Task, entry: Entry) -> Entry:
    """Return the entry as stores keep it: in the queue of its route if the task requires labels and it waits for its due
    instant alone. Entries that lead to no run can be claimed by any node."""
    if entry.state not in CLAIMABLE or entry.kind in CONTROL_KINDS:
        return entry
    return entry._replace(state=EntryState.TIMED, lane=queue_of(task))


def place_entries(task: Task, change: Change) -> Change:
    """Return the change of a task that requires labels, with its entries in the queue of its route."""
    return change._replace(put=tuple(place_entry(task, entry) for entry in change.put))


class ServedQueues:
    """Chooses the queues that a node serves by its routes (None: all) and its labels (None: all)."""

    def __init__(self, routes: Collection[str] | None, labels: Collection[tuple[str, str]] | None) -> None:
        self._routes = None if routes is None else frozenset(map(_shorten_route, routes))
        self._labels = labels

    def serves(self, queue: str) -> bool:
        if self._labels is not None and not has_labels(labels_of_queue(queue), self._labels):
            return False
        return self._routes is None or self._routes.issuperset(queue.split(";")[1:])


def _shorten_route(route: str) -> str:
    if len(route) <= _QUEUE_ROUTE_CHARACTERS and ";" not in route:
        return route
    digest = sha256(route.encode(errors="replace")).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{route[: _QUEUE_ROUTE_CHARACTERS - _DIGEST_CHARACTERS - 1].replace(';', ',')}~{digest}"
