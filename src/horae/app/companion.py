"""Port for a part of the process that starts with the engine and stops after it, such as the host of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..service.service import Service


class EngineCompanion(Protocol):
    async def connect(self, service: Service, targets: Mapping[str, Any]) -> None:
        """Called with the opened targets, by kind, before the engine starts; a refusal ends the start."""

    def start(self) -> None:
        """Called when the engine runs."""

    def wake(self) -> None:
        """Called after each write in this process, and after each notification of another one; must cost next to nothing."""

    async def stop(self) -> None:
        """Called after the engine has ended, and also if its start failed."""
