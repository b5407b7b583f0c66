"""One run while it is carried: what its target sees of it, and what it says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..model.events.trace_context import traceparent
from ..model.ids import occurrence_key
from ..model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shortened
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import Task
from ..ports.journal import Line

if TYPE_CHECKING:
    from .runner import Runner

LOG: Final = logging.getLogger("horae")


class Carried:
    """An `Invocation`. Signs of life may come from any thread; everything else happens on the event loop."""

    __slots__ = (
        "_actions",
        "_runner",
        "alive",
        "asked",
        "begun",
        "cancellable",
        "cancelled",
        "ending",
        "job",
        "lines",
        "run",
        "started",
        "task",
    )

    def __init__(self, runner: Runner, task: Task, run: Run, started: datetime, begun: float) -> None:
        self._runner = runner
        self._actions: list[Callable[[], None]] | None = None
        self.task = task
        self.run = run
        self.started = started
        self.begun = begun
        self.alive = begun
        self.asked = begun
        self.cancelled = False
        self.cancellable = False
        """Only while its target is at work: cancelled before or after that, the job could not tell how the run ended."""
        self.ending: Reason | None = None
        self.job: asyncio.Task[None] | None = None
        self.lines = 0

    @property
    def claim(self) -> tuple[str, int]:
        """What the store knows it by."""
        return self.run.id, self.run.token

    @property
    def key(self) -> str:
        return occurrence_key(self.task.id, self.run.origin, self.run.planned)

    @property
    def trace(self) -> str:
        """All attempts at an occurrence belong to one trace, and each is a span of its own."""
        return traceparent(self.run)

    @property
    def silence_ends(self) -> float:
        """On the steady clock: when it must have given a sign of life, or ended altogether."""
        policies = self.task.policies
        quiet = self.alive + policies.timeout.total_seconds()
        if policies.max_duration is None:
            return quiet
        return min(quiet, self.begun + policies.max_duration.total_seconds())

    @property
    def watched_until(self) -> float:
        """On the steady clock: when to ask it to end, for the first time or once more."""
        if self.ending is None:
            return self.silence_ends
        return self.asked + self.task.policies.timeout.total_seconds()

    @property
    def deadline(self) -> datetime:
        return self.started + timedelta(seconds=self.silence_ends - self.begun)

    @property
    def yield_requested(self) -> bool:
        return self._runner.stopping

    def log(self, text: str, level: str = "info") -> None:
        """The journal keeps so many lines of a run, and one more tells it that there was more."""
        self.lines += 1
        if self.lines <= LOG_LINES + 1:
            self._say(text, level)

    def progress(self, done: float, text: str = "") -> None:
        self.heartbeat()
        self.log(f"{min(max(done, 0.0), 1.0):.4f} {text}".rstrip(), "progress")

    def heartbeat(self) -> None:
        self.alive = self._runner.clock.steady()

    def on_cancel(self, action: Callable[[], None]) -> None:
        if self._actions is None:
            self._actions = []
        self._actions.append(action)
        if self.cancelled:
            self._act(action)

    def end(self, reason: Reason) -> None:
        """Ask it to end; asking again asks again, for those that do not listen."""
        self.ending = self.ending or reason
        self.asked = self._runner.clock.steady()
        self.cancelled = True
        for action in tuple(self._actions or ()):
            self._act(action)
        if self.job is not None and self.cancellable:
            self.job.cancel()

    def _act(self, action: Callable[[], None]) -> None:
        """What a target wants done must not keep the others from being ended."""
        try:
            action()
        except Exception:
            LOG.exception("ending the run %s: its target's own action failed", self.run.id)

    def _say(self, text: str, level: str) -> None:
        line = Line(self.run.id, self._runner.clock.now(), level, shortened(text, LOG_LINE_CHARACTERS))
        self._runner.scribe.write(line)
