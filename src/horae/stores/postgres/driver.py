"""Check that the asyncpg driver, an optional dependency, is installed."""

from __future__ import annotations

from ..refusals import refuse


def require_driver() -> None:
    try:
        import asyncpg  # noqa: F401, PLC0415 - only looked for
    except ImportError:
        raise refuse("store_library_missing", server="PostgreSQL", library="asyncpg", extra="postgres") from None
