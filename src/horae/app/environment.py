"""What an app lives in when it does not live in the machine's own time."""

from __future__ import annotations

from typing import Protocol

from ..clock import Clock
from ..engine.settings import EngineSettings
from ..ports.target import Target
from ..runtime import Keeping


class Surroundings(Protocol):
    @property
    def clock(self) -> Clock: ...

    def store_url(self, url: str) -> str:
        """The URL of the store to open in place of the app's own."""

    def key_url(self, url: str) -> str:
        """The URL of the store whose key seals the secrets."""

    async def opened(self, store: Keeping) -> None:
        """Called with the open store before anything else uses it."""

    def store(self, store: Keeping) -> Keeping:
        """The store as it is to be used here."""

    def settings(self, settings: EngineSettings) -> EngineSettings:
        """The engine's numbers as they are here."""

    def home(self) -> str:
        """Where a new node lives."""

    def is_gone(self, home: str) -> bool:
        """Whether the node that lived there is certainly dead."""

    def functions(self, target: Target) -> Target:
        """The function target as it is to be used here."""
