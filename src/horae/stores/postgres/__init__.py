"""PostgreSQL store, which any number of nodes can share."""

from __future__ import annotations

from .driver import library_or_refusal

# Checked before the imports that need the driver: the refusal names the package to install.
library_or_refusal()

from .store import PostgresStore  # noqa: E402

__all__ = ["PostgresStore"]
