"""Pages of a list that may grow while it is read: each one starts after the last key of the one before."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

_T = TypeVar("_T")

LARGEST_PAGE: Final = 1_000


class Page(NamedTuple, Generic[_T]):
    items: tuple[_T, ...]
    after: str | None = None
    """What to ask for next; None when this was the last one."""
