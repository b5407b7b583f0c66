"""Ports around an app: the virtual environment of tests and simulations, and the companion that starts with the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..clock import Clock
from ..engine.settings import EngineSettings
from ..ports.full_store import FullStore
from ..ports.target import Target
from ..service.service import Service


class AppEnvironment(Protocol):
    @property
    def clock(self) -> Clock: ...

    def store_url(self, url: str) -> str:
        """The URL of the store to open in place of the app's own."""

    def key_url(self, url: str) -> str:
        """The URL of the store whose key encrypts the secrets."""

    async def opened(self, store: FullStore) -> None:
        """Called with the open store before anything else uses it."""

    def store(self, store: FullStore) -> FullStore:
        """Wrap the store for this environment."""

    def settings(self, settings: EngineSettings) -> EngineSettings:
        """Return the engine settings for this environment."""

    def home(self) -> str:
        """Return the process identity of a new node."""

    def is_gone(self, home: str) -> bool:
        """Whether the process of that identity is certainly dead."""

    def functions(self, target: Target) -> Target:
        """Wrap the function target for this environment."""


class EngineCompanion(Protocol):
    """A part of the process that starts with the engine and stops after it, such as the host of agents."""

    async def connect(self, service: Service, targets: Mapping[str, Any]) -> None:
        """Called with the opened targets, by kind, before the engine starts; a refusal ends the start."""

    def start(self) -> None:
        """Called when the engine runs."""

    def wake(self) -> None:
        """Called after each write in this process, and after each notification of another one; must cost next to nothing."""

    async def stop(self) -> None:
        """Called after the engine has ended, and also if its start failed."""
