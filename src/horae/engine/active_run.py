"""Active run: the `Invocation` that a target sees, with its heartbeat, deadlines, cancellation and log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ..model.events.trace_context import traceparent
from ..model.ids import occurrence_key
from ..model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shorten
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import Task
from ..ports.journal import Line

if TYPE_CHECKING:
    from .runner import Runner

LOG: Final = logging.getLogger("horae")


class ActiveRun:
    """Run that this node executes. `heartbeat` and `log` may be called from any thread, everything else on the event loop."""

    __slots__ = (
        "_cancel_actions",
        "_runner",
        "begun_at",
        "cancelled",
        "end_reason",
        "end_requested_at",
        "is_cancellable",
        "job",
        "last_heartbeat",
        "line_count",
        "run",
        "started",
        "task",
    )

    def __init__(self, runner: Runner, task: Task, run: Run, started: datetime, begun: float) -> None:
        self._runner = runner
        self._cancel_actions: list[Callable[[], None]] | None = None
        self.task = task
        self.run = run
        self.started = started
        self.begun_at = begun
        self.last_heartbeat = begun
        self.end_requested_at = begun
        self.cancelled = False
        self.is_cancellable = False
        """True only while the target executes: a job that is cancelled before or after could not report the outcome."""
        self.end_reason: Reason | None = None
        self.job: asyncio.Task[None] | None = None
        self.line_count = 0

    @property
    def claim(self) -> tuple[str, int]:
        """Run id and fencing token."""
        return self.run.id, self.run.token

    @property
    def key(self) -> str:
        return occurrence_key(self.task.id, self.run.origin, self.run.planned)

    @property
    def trace(self) -> str:
        """W3C `traceparent`: all attempts at an occurrence share one trace, each is a span of its own."""
        return traceparent(self.run)

    @property
    def deadline_at(self) -> float:
        """Monotonic instant by which the run must send a heartbeat, or end because of `max_duration`."""
        policies = self.task.policies
        silent_until = self.last_heartbeat + policies.timeout.total_seconds()
        if policies.max_duration is None:
            return silent_until
        return min(silent_until, self.begun_at + policies.max_duration.total_seconds())

    @property
    def next_check_at(self) -> float:
        """Monotonic instant of the next request to end, the first one or a repeated one."""
        if self.end_reason is None:
            return self.deadline_at
        return self.end_requested_at + self.task.policies.timeout.total_seconds()

    @property
    def deadline(self) -> datetime:
        return self.started + timedelta(seconds=self.deadline_at - self.begun_at)

    @property
    def yield_requested(self) -> bool:
        return self._runner.is_stopping

    def log(self, text: str, level: str = "info") -> None:
        """Write a log line; after `LOG_LINES` one more is sent, from which the journal sees that lines were dropped."""
        self.line_count += 1
        if self.line_count <= LOG_LINES + 1:
            self._write_line(text, level)

    def progress(self, done: float, text: str = "") -> None:
        self.heartbeat()
        self.log(f"{min(max(done, 0.0), 1.0):.4f} {text}".rstrip(), "progress")

    def heartbeat(self) -> None:
        self.last_heartbeat = self._runner.clock.steady()

    def on_cancel(self, action: Callable[[], None]) -> None:
        if self._cancel_actions is None:
            self._cancel_actions = []
        self._cancel_actions.append(action)
        if self.cancelled:
            self._call_action(action)

    def request_end(self, reason: Reason) -> None:
        """Ask the run to end: call its cancel actions and cancel its job. May be repeated for a run that does not react."""
        self.end_reason = self.end_reason or reason
        self.end_requested_at = self._runner.clock.steady()
        self.cancelled = True
        for action in tuple(self._cancel_actions or ()):
            self._call_action(action)
        if self.job is not None and self.is_cancellable:
            self.job.cancel()

    def _call_action(self, action: Callable[[], None]) -> None:
        """Call a cancel action; its failure must not keep other runs from being ended."""
        try:
            action()
        except Exception:
            LOG.exception("ending the run %s: its target's own action failed", self.run.id)

    def _write_line(self, text: str, level: str) -> None:
        line = Line(self.run.id, self._runner.clock.now(), level, shorten(text, LOG_LINE_CHARACTERS))
        self._runner.journal_writer.write(line)
