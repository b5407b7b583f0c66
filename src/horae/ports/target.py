"""The target: where the work goes. It gets an invocation and always answers with an outcome."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from ..clock import Clock
from ..model.outcome import Outcome
from ..model.run import Run
from ..model.task import Task
from .secrets import Secrets


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


class Closable(Protocol):
    """A target that keeps something open, such as connections, also has this."""

    async def aclose(self) -> None:
        """Let go of it; every run that it carried has ended before."""


class Tools(NamedTuple):
    """What a target is made with. `settings` are the operator's for its kind, read from files and environment.

    `publish` tells those who listen in this process (a topic, and a JSON object); it returns at once, with their number.
    `reach` says how many event streams, webhooks and terminals of all processes take an event, by owner, task and topic.
    """

    clock: Clock
    secrets: Secrets
    settings: Mapping[str, Any]
    publish: Callable[[str, Mapping[str, Any]], int | None]
    reach: Callable[[str, str, str], Awaitable[Mapping[str, int]]] | None = None


class TargetKind(Protocol):
    """One kind of target, as a deployment knows it: checked when a task is made, opened when a node starts.

    Other packages offer theirs under the entry point group `horae.targets`; the name of the entry point is the kind.
    """

    @property
    def kind(self) -> str: ...

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The spec as it is to be kept, complete and canonical; a `Refusal` when it could never work.

        Pure but for reading the machine's own state (is this program on the list?); it never opens a connection.
        """

    def open(self, tools: Tools) -> Target:
        """Ready to carry runs; called on the node's event loop."""
