"""The ring: a word between processes that something may be due sooner. It only shortens a wait, and may get lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Wakeup(Protocol):
    def ring(self) -> None:
        """Tell every other process on this store, without waiting for any of them."""

    def listen(self, heard: Callable[[], None]) -> None:
        """Call `heard` on this event loop whenever somebody rings."""

    def close(self) -> None:
        """Hear nothing more; `listen` may be called again."""

    async def finish(self) -> None:
        """Let go of everything, once what was rung is on its way."""
