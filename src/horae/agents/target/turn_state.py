"""State machine of one agent from its start to its end; pure: events go in, actions come out.

An agent of messages answers one batch of messages after another: it is idle between them. An agent of a task answers once.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Final, NamedTuple, TypeAlias

from ...model.agents.usage import NO_USAGE, RunUsage, add_report
from ...model.lanes.idle import YieldReason
from ...model.limits import ERROR_CHARACTERS, RESULT_BYTES, shorten
from ...model.outcome import Cancelled, Failed, Outcome, Succeeded, TimedOut
from ...ports.runtime import Exit
from ..protocol import AgentResult, BadResult
from ..protocol.result import remove_internal_text

TASK_CLOSE_SECONDS: Final = 10.0
"""From the first result of a task's agent to the request to close."""
HARD_EXTRA_SECONDS: Final = 30.0
"""The hard timeout is later than the end of idleness by so much."""
CLOSE_GRACE_SECONDS: Final = 30.0
"""From the request to close, to an agent whose turn has ended, to its stop."""
UNKNOWN_ERROR: Final = "Unknown error"
COMPLETED: Final = "Completed"
NO_RESULT: Final = "The agent ended without a result."
NO_ANSWER: Final = "The agent ended before it had answered all messages."
PROCESS_LIMIT: Final = "The agent was refused further processes at its limit."
_MAX_RUN: Final = "longest time of a run"
_STDERR_CHARACTERS: Final = 200
_STALE_SESSION: Final = re.compile(
    r"no conversation found|ENOENT.*\.jsonl|session\b.*\bnot found", re.IGNORECASE | re.DOTALL
)


MAX_TURN_ANSWERS: Final = 1_000
"""Texts of one turn, each of which is a message of the chat; an agent that writes more is stopped."""


class TurnLimits(NamedTuple):
    """Seconds: `timeout` without marked output, `idle` after the last real result, `max_run` of the run in all."""

    timeout: float
    idle: float
    max_run: float = 4 * 3_600

    @property
    def hard(self) -> float:
        return max(self.timeout, self.idle + HARD_EXTRA_SECONDS)


class MessageBatch(NamedTuple):
    """Messages of one turn: the prompt, how many it has, and the numbers of the stream that the turn handles."""

    prompt: str
    length: int
    first: int
    handled: int


# --- events ------------------------------------------------------------------------------------------------------


class ResultRead(NamedTuple):
    result: AgentResult


class OutputDamaged(NamedTuple):
    """A marked part of the output that is no result."""

    problem: BadResult


class MessagesFound(NamedTuple):
    """Messages that wake the agent have arrived."""

    batch: MessageBatch


class YieldRequested(NamedTuple):
    reason: YieldReason | None = None


class BudgetUsedUp(NamedTuple):
    """The run has used up a budget: its agent begins no further turn."""

    note: str


class TimePassed(NamedTuple):
    pass


class CancelRequested(NamedTuple):
    pass


class AgentEnded(NamedTuple):
    exit: Exit
    stderr: str = ""


Event: TypeAlias = (
    ResultRead
    | OutputDamaged
    | MessagesFound
    | YieldRequested
    | BudgetUsedUp
    | TimePassed
    | CancelRequested
    | AgentEnded
)

# --- actions -----------------------------------------------------------------------------------------------------


class CommitResult(NamedTuple):
    """Commit a result. `text` is for the chat, None without one; `batch` are the messages that it answers."""

    text: str | None
    batch: MessageBatch | None
    session_id: str | None
    is_turn_end: bool


class PipeMessages(NamedTuple):
    batch: MessageBatch


class RequestClose(NamedTuple):
    """Ask the agent to end when its turn has ended."""

    reason: str


class StopAgent(NamedTuple):
    reason: str


class DeclareIdle(NamedTuple):
    is_idle: bool


class ReportOutput(NamedTuple):
    """The agent has produced marked output: the run is alive."""


class WriteLog(NamedTuple):
    text: str
    level: str = "info"


class Settle(NamedTuple):
    """The run ends. `is_stale`: the session that the agent was to continue does not exist."""

    outcome: Outcome
    is_stale: bool = False


Action: TypeAlias = (
    CommitResult | PipeMessages | RequestClose | StopAgent | DeclareIdle | ReportOutput | WriteLog | Settle
)


class TurnState:
    """`batch` are the messages of the first prompt; None for the agent of a task. Instants are monotonic seconds.

    `began` is when the first agent of the run began; None: this is the first.
    """

    def __init__(self, limits: TurnLimits, batch: MessageBatch | None, at: float, began: float | None = None) -> None:
        self._limits = limits
        self._is_task = batch is None
        self._unanswered = batch
        self._is_idle = False
        self._close_at: float | None = None
        """When the agent of a task is asked to close."""
        self._closed_at: float | None = None
        """When the agent was asked to close."""
        self._hard_at = at + limits.hard
        self._ends_at = (at if began is None else began) + limits.max_run
        """Nothing moves it."""
        self._idle_at: float | None = None
        self._stop_cause: str | None = None
        self._had_output = False
        self._error: str | None = None
        self._last_text: str | None = None
        self._turn_answers = 0
        self.answers = 0
        """Results with a text."""
        self.handled = 0 if batch is None else batch.handled
        """Last number of the stream that the agent was given."""
        self.answered = 0
        """Messages whose turn has a result."""
        self.usage: RunUsage = NO_USAGE

    @property
    def takes_messages(self) -> bool:
        """Whether further messages can be piped to the agent now."""
        return self._is_idle and not self._is_task and self._closed_at is None and self._stop_cause is None

    @property
    def is_idle(self) -> bool:
        return self._is_idle

    def handle(self, event: Event, at: float) -> list[Action]:
        """Return the actions for an event, in order."""
        match event:
            case ResultRead(result):
                return self._take_result(result, at)
            case OutputDamaged(problem):
                return [WriteLog(f"a result cannot be read: {problem.message}: {problem.excerpt}", "warning")]
            case MessagesFound(batch):
                return self._take_messages(batch, at)
            case YieldRequested(reason):
                return self._close(f"asked to yield: {reason}", at) if self._is_idle else []
            case BudgetUsedUp(note):
                return [WriteLog(note, "warning"), *self._close("its budget is used up", at)]
            case TimePassed():
                return self._check_time(at)
            case CancelRequested():
                return self._stop("cancelled")
            case AgentEnded(ended, stderr):
                reached = [WriteLog(PROCESS_LIMIT, "warning")] if ended.is_process_limited else []
                return [*reached, *self._settle(ended, stderr)]

    def _take_result(self, result: AgentResult, at: float) -> list[Action]:
        self._had_output = True
        self._hard_at = at + self._limits.hard
        if result.usage is not None:
            self.usage = add_report(self.usage, **asdict(result.usage))
        if result.status == "error":
            self._error = result.error or UNKNOWN_ERROR
            return [ReportOutput(), WriteLog(self._error, "error")]
        text = None if result.result is None else remove_internal_text(result.result)
        if text:
            self._turn_answers += 1
            if self._turn_answers > MAX_TURN_ANSWERS:
                return self._stop("it has written too many texts")
        is_turn_end = result.result is None
        if not is_turn_end or self._idle_at is None:
            self._idle_at = at + self._limits.idle
        if self._close_at is None:
            self._close_at = at + TASK_CLOSE_SECONDS
        batch, self._unanswered = self._unanswered, None
        self.answered += 0 if batch is None else batch.length
        if text:
            self.answers += 1
            self._last_text = text
        commit = CommitResult(text or None, batch, result.new_session_id, is_turn_end)
        actions: list[Action] = [ReportOutput(), commit]
        if is_turn_end and not self._is_idle:
            self._is_idle = True
            actions += [] if self._is_task else [DeclareIdle(is_idle=True)]
        return actions

    def _take_messages(self, batch: MessageBatch, at: float) -> list[Action]:
        """Pipe messages to an idle agent; at any other time they stay unhandled, in the stream."""
        if not self.takes_messages:
            return []
        self._is_idle = False
        self._turn_answers = 0
        self._unanswered = batch
        self.handled = batch.handled
        self._hard_at = at + self._limits.hard  # another turn begins
        return [DeclareIdle(is_idle=False), PipeMessages(batch)]

    def _check_time(self, at: float) -> list[Action]:
        if self._stop_cause is not None:
            return []
        if at >= self._ends_at:
            return self._stop(_MAX_RUN)
        if at >= self._hard_at:
            return self._stop("timeout")
        if self._closed_at is not None:
            is_overdue = self._is_idle and at >= self._closed_at + CLOSE_GRACE_SECONDS
            return self._stop("closed") if is_overdue else []
        if self._is_task:
            is_due = self._close_at is not None and at >= self._close_at
            return self._close("it has answered", at) if is_due else []
        if self._is_idle and at >= self._ends_at - CLOSE_GRACE_SECONDS:
            return self._close("the run has reached its longest time", at)
        is_due = self._is_idle and self._idle_at is not None and at >= self._idle_at
        return self._close("no new messages", at) if is_due else []

    def _close(self, reason: str, at: float) -> list[Action]:
        if self._closed_at is not None or self._stop_cause is not None:
            return []
        self._closed_at = at
        return [RequestClose(reason)]

    def _stop(self, cause: str) -> list[Action]:
        if self._stop_cause is not None and cause != "cancelled":
            return []
        self._stop_cause = cause
        return [StopAgent(cause)]

    def _settle(self, ended: Exit, stderr: str) -> list[Action]:
        if self._stop_cause == "cancelled":
            return [Settle(Cancelled("its agent was stopped"))]
        failure = self._failure(ended, stderr)
        if failure is None:
            return [Settle(Succeeded(self._result()))]
        error = failure.error
        if not self._is_task and self._unanswered is None and self._had_output and self.answered:
            # Its messages are handled: another attempt would answer nothing.
            return [
                WriteLog(f"the agent failed after it had answered: {error}", "warning"),
                Settle(Succeeded(self._result())),
            ]
        return [Settle(failure, is_stale=_STALE_SESSION.search(error) is not None)]

    def _failure(self, ended: Exit, stderr: str) -> Failed | TimedOut | None:
        if self._error is not None:
            return Failed(shorten(self._error, ERROR_CHARACTERS))
        if self._stop_cause == "timeout":
            is_done = self._had_output and self._unanswered is None
            milliseconds = round(self._limits.hard * 1000)
            return None if is_done else TimedOut(f"Container timed out after {milliseconds}ms")
        if self._stop_cause == _MAX_RUN:
            seconds = round(self._limits.max_run)
            return None if self._is_idle else TimedOut(f"The agent ran longer than {seconds} s, the limit of a run.")
        tail = stderr.strip()[-_STDERR_CHARACTERS:]
        match ended.cause:
            case "not_started":
                return Failed(f"The agent could not be started: {tail}")
            case "lost":
                return Failed("The launcher process of the agent was killed.")
            case "memory_limit":
                return Failed("The agent used more memory than its limit.")
            case "output_limit":
                return Failed("The agent wrote more output than its limit.")
            case "exited" if ended.code != 0:
                return Failed(f"Container exited with code {ended.code}: {tail}")
            case _ if not self._had_output:
                return Failed(NO_RESULT)
            case _:
                return None if self._unanswered is None else Failed(NO_ANSWER)

    def _result(self) -> str:
        """Result of the run as JSON: the last text of a task, or what a turn of messages has done."""
        if not self._is_task:
            return json.dumps({"messages": self.answered, "answers": self.answers})
        return result_json(self._last_text)


def result_json(text: str | None) -> str:
    """Return the result of a task's run: the text as JSON, within the limit of results."""
    text = COMPLETED if text is None else text
    while len(encoded := json.dumps(text, ensure_ascii=False).encode(errors="replace")) > RESULT_BYTES:
        text = text[: len(text) * 3 // 4] + "…"
    return encoded.decode()


_LAST_RESULT_CHARACTERS: Final = 200


def last_result(summary: str | None, *, has_failed: bool = False) -> str | None:
    """Return the words for what a task's status has of its last run: its error, or its result as JSON, perhaps cut."""
    if summary is None:
        return None
    if has_failed:
        return f"Error: {summary}"
    text = _decode_summary(summary)
    return text[:_LAST_RESULT_CHARACTERS] if isinstance(text, str) else COMPLETED


def _decode_summary(summary: str) -> object:
    for text in (summary, f'{summary}"'):
        try:
            decoded: object = json.loads(text)
        except ValueError:
            continue
        return decoded
    return summary
