"""The wake-up port: a best-effort notification between processes that ends a wait early, as something may be due."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Wakeup(Protocol):
    def notify(self) -> None:
        """Notify every other process on this store, without waiting for any of them."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` on this event loop for each notification."""

    def close(self) -> None:
        """Stop listening; `listen` may be called again."""

    async def finish(self) -> None:
        """Send pending notifications, then release all resources."""
