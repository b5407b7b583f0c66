"""For those who test with Horae, or write a store of their own: time travel, factories, contract suites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .travel import TimeTravel

__all__ = ["TimeTravel"]


def __getattr__(name: str) -> Any:
    """Who only wants the contracts need not load the whole app."""
    if name != "TimeTravel":
        raise AttributeError(f"module 'horae.testing' has no attribute {name!r}")
    from .travel import TimeTravel  # noqa: PLC0415 - this is the point

    globals()[name] = TimeTravel
    return TimeTravel
