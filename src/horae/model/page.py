"""Keyset pagination: each page starts after the last key of the previous one, so a list may grow while it is read."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

_T = TypeVar("_T")

MAX_PAGE_SIZE: Final = 1_000
"""Rows that one call of a store or of the service returns at most."""
MAX_HTTP_PAGE_SIZE: Final = 200
"""Items that one HTTP response holds at most."""


class Page(NamedTuple, Generic[_T]):
    items: tuple[_T, ...]
    after: str | None = None
    """Cursor of the next page; None on the last page."""
