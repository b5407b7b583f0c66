"""The whole store port: tasks and runs, records, the journal of runs, messages, transfer; and wake-ups between processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .journal import Journal
from .messages import Messages
from .records import Records
from .store import Store
from .transfer import Moving


class FullStore(Store, Records, Journal, Messages, Moving, Protocol):
    """Everything that a deployment needs from its store."""


class Wakeup(Protocol):
    """Best-effort notification between processes that ends a wait early, as something may be due."""

    def notify(self) -> None:
        """Notify every other process on this store, without waiting for any of them."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` on this event loop for each notification."""

    def close(self) -> None:
        """Stop listening; `listen` may be called again."""

    async def finish(self) -> None:
        """Send pending notifications, then release all resources."""
