"""The secrets port: values that tasks reference by name and never hold; only the target that executes a run reads one,
and only for the run's own owner."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    async def reveal(self, owner: str, name: str) -> str | None:
        """Return the value of an owner's secret, or None; a secret of another owner answers like an absent one."""
