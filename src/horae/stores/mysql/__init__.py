"""The store in MySQL or MariaDB: any number of machines, one agenda."""

from __future__ import annotations

from .store import MySQLStore

__all__ = ["MySQLStore"]
