"""Tools for tests: time travel for an app, and contract suites for a store or target of your own."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .invocations import RecordingInvocation
    from .time_travel import TimeTravel

__all__ = ["RecordingInvocation", "TimeTravel"]

_LAZY_IMPORTS = {"RecordingInvocation": "invocations", "TimeTravel": "time_travel"}


def __getattr__(name: str) -> Any:
    """Import on first use: the contract suites do not need the app."""
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'horae.testing' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_LAZY_IMPORTS[name]}", __name__), name)
    return value
