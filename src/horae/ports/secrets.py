"""The secrets port: tasks reference values by name, and only a target executing a run of the same owner reads one."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    async def reveal(self, owner: str, name: str) -> str | None:
        """Return the value of an owner's secret, or None; a secret of another owner answers like an absent one."""
