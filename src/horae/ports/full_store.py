"""A store with all that rides on it: tasks and runs, records, what runs say, and the way from one store to another."""

from __future__ import annotations

from typing import Protocol

from .journal import Journal
from .records import Records
from .store import Store
from .transfer import Moving


class Keeping(Store, Records, Journal, Moving, Protocol):
    """What a deployment is kept in."""
