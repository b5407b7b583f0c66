"""Secrets: values that tasks name and never hold. Only what carries a run sees one, and only for the run's own owner."""

from __future__ import annotations

from typing import Protocol


class Secrets(Protocol):
    async def reveal(self, owner: str, name: str) -> str | None:
        """The value of an owner's secret; None when there is none of that name. Somebody else's answers alike."""
