"""A store with all that rides on it: tasks and runs, records, and what runs say."""

from __future__ import annotations

from typing import Protocol

from .journal import Journal
from .records import Records
from .store import Store


class Keeping(Store, Records, Journal, Protocol):
    """What a deployment is kept in."""
