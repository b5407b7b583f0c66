"""The store in PostgreSQL: any number of machines, one agenda."""

from __future__ import annotations

from .driver import library_or_refusal

# Before anything that needs it: whoever lacks it is told what to install, and not which import has failed.
library_or_refusal()

from .store import PostgresStore  # noqa: E402

__all__ = ["PostgresStore"]
