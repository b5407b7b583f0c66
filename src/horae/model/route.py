"""The door at which a due entry waits for a node that can run it: one for each function, one for each other kind of target."""

from __future__ import annotations

import json
from typing import Final

from .limits import NAME_CHARACTERS
from .task import Target

_FUNCTION: Final = "function"
DOORS: Final = (f"{_FUNCTION}:", "target:")
"""How the names of all doors begin."""
_MOST: Final = 4_096
_routes: dict[Target, str] = {}


def function_route(name: str) -> str:
    """No function has a longer name, or half a character in it; but a task may ask for one, and a store must be able to
    keep where it waits."""
    return f"{_FUNCTION}:{name[:NAME_CHARACTERS].encode(errors='replace').decode()}"


def kind_route(kind: str) -> str:
    return f"target:{kind}"


def route_of(target: Target) -> str:
    """The same few targets are asked for again and again, so the answers are kept."""
    found = _routes.get(target)
    if found is None:
        if len(_routes) >= _MOST:
            _routes.clear()
        found = _routes[target] = _read(target)
    return found


def _read(target: Target) -> str:
    if target.kind != _FUNCTION:
        return kind_route(target.kind)
    try:
        name = json.loads(target.spec)["name"]
    except (ValueError, LookupError, TypeError, RecursionError):
        name = ""
    return function_route(str(name))


def is_route(lane: str | None) -> bool:
    """Whether an entry is parked at such a door, and not in a full lane."""
    return lane is not None and lane.startswith(DOORS)
