"""Route of a task: the function name or target kind that a node must support to claim its entries."""

from __future__ import annotations

import json
from typing import Final

from .limits import NAME_CHARACTERS
from .task import Target, Task, gate_target

_FUNCTION: Final = "function"
ROUTE_PREFIXES: Final = (f"{_FUNCTION}:", "target:")
"""Name prefixes of all routes."""
_MAX_CACHED: Final = 4_096
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
    gate = gate_target(task.policies)
    if gate is None:
        return None
    gate_route = route_of(gate)
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
