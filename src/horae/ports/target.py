"""The target: where the work goes. It gets an invocation and always answers with an outcome."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from ..model.outcome import Outcome
from ..model.run import Run
from ..model.task import Task


class Invocation(Protocol):
    """All that a target may know of one run, and the few things that it may say while it goes."""

    @property
    def task(self) -> Task: ...
    @property
    def run(self) -> Run: ...
    @property
    def key(self) -> str:
        """The idempotency key: the same for every attempt at this occurrence."""

    @property
    def trace(self) -> str:
        """The W3C trace context of this run; all attempts at an occurrence share one trace."""

    @property
    def deadline(self) -> datetime:
        """When silence becomes a timeout; each sign of life moves it."""

    @property
    def cancelled(self) -> bool: ...
    @property
    def yield_requested(self) -> bool:
        """The node wants to stop: what can end early, should."""

    def log(self, text: str, level: str = "info") -> None: ...
    def progress(self, done: float, text: str = "") -> None:
        """A sign of life that people can see; `done` is between 0 and 1."""

    def heartbeat(self) -> None:
        """A sign of life."""

    def on_cancel(self, action: Callable[[], None]) -> None:
        """What to do when the run is to end: kill a child, close a connection."""


class Target(Protocol):
    async def execute(self, invocation: Invocation) -> Outcome:
        """Do it. A cancelled coroutine must stop what it started before it ends."""
