"""Port for a virtual environment (clock, store, settings, node identity) in which tests and simulations run an app."""

from __future__ import annotations

from typing import Protocol

from ..clock import Clock
from ..engine.settings import EngineSettings
from ..ports.full_store import FullStore
from ..ports.target import Target


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
