"""Horae: a durable, precise scheduler for AI agents and services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import HoraeError, InvalidSchedule

if TYPE_CHECKING:
    from .public import describe, parse, preview

__version__ = "0.1.0"

__all__ = ["HoraeError", "InvalidSchedule", "describe", "parse", "preview"]


def __getattr__(name: str) -> Any:
    """The functions load on first use, so that importing Horae costs next to nothing where only a name is needed."""
    if name not in __all__:
        raise AttributeError(f"module 'horae' has no attribute {name!r}")
    from . import public  # noqa: PLC0415 - this is the point

    found = globals()[name] = getattr(public, name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
