"""For those who test with Horae, or write a store or target of their own: time travel, factories, contract suites."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .invocations import RecordingInvocation
    from .travel import TimeTravel

__all__ = ["RecordingInvocation", "TimeTravel"]

_ROOMS = {"RecordingInvocation": "invocations", "TimeTravel": "travel"}


def __getattr__(name: str) -> Any:
    """Who only wants the contracts need not load the whole app."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'horae.testing' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_ROOMS[name]}", __name__), name)
    return found
