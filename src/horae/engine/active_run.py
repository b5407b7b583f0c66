"""Active run: the `Invocation` that a target sees, its deadlines, cancellation and log, and its outcome if asked to end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, get_args

from ..clock import Clock
from ..model.gate import NO_DATA, GateVerdict
from ..model.ids import occurrence_key, traceparent
from ..model.lanes.idle import YieldKind, YieldReason
from ..model.limits import ERROR_CHARACTERS, LOG_LINE_CHARACTERS, shorten
from ..model.messages import RunWrites, StreamQuota
from ..model.outcome import Cancelled, Failed, Outcome, Succeeded, TimedOut, Waiting
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import Task
from ..ports.journal import Line
from ..ports.previous import NO_PREVIOUS
from .idle_report import IdleReport
from .journal_writer import RunLogUsage
from .run_messages import RunMessages
from .run_records import RunRecords

if TYPE_CHECKING:
    from .runner import Runner


LOG: Final = logging.getLogger("horae")


class ActiveRun:
    """Run that this node executes. `heartbeat`, `idle` and `log` may be called from any thread, everything else on the event loop."""

    __slots__ = (
        "_cancel_actions",
        "_idle",
        "_messages",
        "_records",
        "_runner",
        "begun_at",
        "cancelled",
        "end_reason",
        "end_requested_at",
        "gate",
        "gate_deadline_at",
        "is_cancellable",
        "job",
        "last_heartbeat",
        "log_usage",
        "previous",
        "run",
        "started",
        "task",
        "verdict",
    )

    def __init__(self, runner: Runner, task: Task, run: Run, started: datetime, begun: float) -> None:
        self._runner = runner
        self._cancel_actions: list[Callable[[], None]] | None = None
        self._messages: RunMessages | None = None
        self._records: RunRecords | None = None
        self._idle: IdleReport | None = None
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
        self.log_usage = RunLogUsage()
        self.previous = NO_PREVIOUS
        self.gate = NO_DATA
        self.gate_deadline_at: float | None = None
        """Monotonic instant by which the gate must answer; None while it is not being called."""
        self.verdict: GateVerdict | None = None

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
        """Monotonic instant by which the gate must answer, or the run must send a heartbeat or end (`max_duration`)."""
        if self.gate_deadline_at is not None:
            return self.gate_deadline_at
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
    def gate_state(self) -> str | None:
        return None

    @property
    def yield_requested(self) -> bool:
        return self._runner.is_stopping or (self._idle is not None and self._idle.reason is not None)

    @property
    def yield_reason(self) -> YieldReason | None:
        if self._runner.is_stopping:
            return YieldReason(YieldKind.NODE_STOPPING)
        return None if self._idle is None else self._idle.reason

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        if self._idle is None and idle:
            self._idle = self._runner.new_idle_report(self)
        if self._idle is not None:
            self._idle.declare(self._runner.clock.now() if idle else None)

    def request_yield(self, since: datetime, reason: YieldReason) -> None:
        """Ask the run to yield, if it is idle since that instant."""
        if self._idle is not None:
            self._idle.request_yield(since, reason)

    @property
    def messages(self) -> RunMessages:
        if self._messages is None:
            runner = self._runner
            self._messages = RunMessages(
                runner.tool_store, self, runner.clock.now, self._load_stream_quota, runner.on_commit
            )
        return self._messages

    async def _load_stream_quota(self) -> StreamQuota:
        return await self._runner.load_stream_quota(self.task)

    @property
    def has_messages(self) -> bool:
        """Whether messages are sent with the settlement."""
        return self._messages is not None and self._messages.staged.has_messages

    @property
    def records(self) -> RunRecords:
        if self._records is None:
            self._records = RunRecords(self._runner.tool_store, self, self.messages.staged)
        return self._records

    def collect_writes(self, now: datetime) -> RunWrites | None:
        """Return the writes that commit with the settlement; None if there are none."""
        return None if self._messages is None else self._messages.collect(now)

    def log(self, text: str, level: str = "info") -> None:
        """Write a log line; the writer drops those beyond the bounds of a run."""
        line = Line(self.run.id, self._runner.clock.now(), level, shorten(text, LOG_LINE_CHARACTERS))
        self._runner.journal_writer.write(line, self.log_usage)

    def progress(self, done: float, text: str = "") -> None:
        self.heartbeat()
        if self._idle is not None:
            self._idle.declare(None)
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


OUTCOMES: Final = frozenset(get_args(Outcome))


def error_outcome(error: BaseException) -> Outcome:
    try:
        return Failed(shorten(f"{type(error).__name__}: {error}", ERROR_CHARACTERS))
    except BaseException:  # noqa: BLE001 - str() of a foreign exception may raise anything
        return Failed(f"{type(error).__name__}, which cannot be told")


def unknown_target_outcome(kind: str) -> Outcome:
    return Failed(f"no target of kind '{kind}'", reason=Reason.TARGET_UNKNOWN)


def invalid_outcome(answer: object) -> Outcome:
    return Failed(f"the target answered with {type(answer).__name__}, which is no outcome")


def cancelled_outcome(active: ActiveRun) -> Outcome:
    """Return the outcome of a run whose target was cancelled."""
    if active.end_reason is Reason.DEADLINE:
        return TimedOut(_timeout_text(active))
    if active.end_reason is None:
        return Failed("the function cancelled itself")
    return Cancelled()


def late_outcome(active: ActiveRun, outcome: Outcome) -> Outcome:
    """Return the outcome of a run that answered after it was asked to end: a result counts, an error becomes the timeout."""
    if active.end_reason is not Reason.DEADLINE or isinstance(outcome, Succeeded | Waiting):
        return outcome
    return TimedOut(outcome.error if isinstance(outcome, Failed) else _timeout_text(active))


def _timeout_text(active: ActiveRun) -> str:
    policies = active.task.policies
    silent_until = active.last_heartbeat + policies.timeout.total_seconds()
    if policies.max_duration is not None and active.deadline_at < silent_until:
        return f"not over after {policies.max_duration.total_seconds():g} s"
    return f"silent for {policies.timeout.total_seconds():g} s"


class DeadlineTimer:
    """One loop timer for the earliest deadline of all active runs.

    Heartbeats move deadlines without touching the timer: it fires early, finds nothing overdue and is set again.
    """

    def __init__(self, clock: Clock, active_runs: Mapping[str, ActiveRun]) -> None:
        self._clock = clock
        self._active_runs = active_runs
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = float("inf")

    def watch(self, run: ActiveRun) -> None:
        """Watch another run."""
        until = run.deadline_at
        if until < self._timer_at:
            self._set_timer(until)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, float("inf")

    def _set_timer(self, at: float) -> None:
        self.stop()
        self._timer_at = at
        delay = max(0.0, at - self._clock.steady())
        self._timer = asyncio.get_running_loop().call_later(delay, self._check_deadlines)

    def _check_deadlines(self) -> None:
        """End runs past their deadline, ask again those that do not react, and set the timer for the next deadline."""
        self._timer, self._timer_at = None, float("inf")
        steady = self._clock.steady()
        # A run whose start is not committed yet has no job, so it cannot have timed out.
        executing = [run for run in self._active_runs.values() if run.job is not None]
        for run in executing:
            if run.next_check_at <= steady:
                run.request_end(Reason.DEADLINE)
        if executing:
            self._set_timer(min(run.next_check_at for run in executing))
