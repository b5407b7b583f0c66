"""PostgreSQL store, which any number of nodes can share."""

from __future__ import annotations

from .driver import require_driver

# Checked before the imports that need the driver: the refusal names the package to install.
require_driver()

from .store import PostgresStore  # noqa: E402

__all__ = ["PostgresStore"]
