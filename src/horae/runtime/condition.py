"""What an operator asks of a store in a file before it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..stores.sqlite.condition import Condition


def store_condition(path: str) -> Condition:
    """Which schema and settings the file has. A file that is none of ours raises `StoreDamaged`."""
    from ..stores.sqlite.condition import condition_of  # noqa: PLC0415 - each store loads only where it is used

    return condition_of(path)


def library_versions() -> tuple[str, str]:
    """SQLite, and what brings it."""
    from ..stores.sqlite.condition import versions  # noqa: PLC0415

    return versions()
