"""The whole store port: tasks and runs, records, the journal of runs, and transfer between stores."""

from __future__ import annotations

from typing import Protocol

from .journal import Journal
from .records import Records
from .store import Store
from .transfer import Moving


class FullStore(Store, Records, Journal, Moving, Protocol):
    """Everything that a deployment needs from its store."""
