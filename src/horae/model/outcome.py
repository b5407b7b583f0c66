"""Outcome of one target invocation, as a closed union that every dispatch covers completely, and its settlement."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from .gate import GateVerdict
from .messages import RunWrites
from .reason import Reason


class Succeeded(NamedTuple):
    result: str | None = None
    """JSON text, already within the size limit."""
    triggered_topic: str | None = None
    """Topic under which an event target published that the task is due; the settlement writes `task.triggered` for it."""


class Failed(NamedTuple):
    error: str
    permanent: bool = False
    retry_after: timedelta | None = None
    reason: Reason = Reason.TARGET_FAILED
    died_isolated: bool = False
    """The isolated child process died, or could not load the function."""


class TimedOut(NamedTuple):
    error: str = ""


class Cancelled(NamedTuple):
    error: str = ""


class Skipped(NamedTuple):
    note: str = ""
    reason: Reason = Reason.SKIPPED_BY_TARGET
    again_after: timedelta | None = None
    """The occurrence is tried again after this time, and no attempt is used up; None: it has ended."""


class Waiting(NamedTuple):
    """An external system continues the work and must answer before the deadline."""

    deadline: datetime


Outcome: TypeAlias = Succeeded | Failed | TimedOut | Cancelled | Skipped | Waiting


class Settlement(NamedTuple):
    """Final report of a run, fenced by the token of its claim."""

    run_id: str
    token: int
    outcome: Outcome
    started: datetime | None
    ended: datetime
    gate: GateVerdict | None = None
    """Verdict of the task's gate, if it gave one."""
    writes: RunWrites | None = None
    """Records, messages and cursor moves that commit with a success, or not at all."""
