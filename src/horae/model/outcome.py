"""What a target says of one invocation: a closed union, and every dispatch over it is complete."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from .reason import Reason


class Succeeded(NamedTuple):
    result: str | None = None
    """JSON text, already within bounds."""
    tells: str | None = None
    """The topic under which it has told others that the task is due; the log tells of that, too."""


class Failed(NamedTuple):
    error: str
    permanent: bool = False
    retry_after: timedelta | None = None
    reason: Reason = Reason.TARGET_FAILED
    died_alone: bool = False
    """It took even a process of its own down, or could not be loaded there."""


class TimedOut(NamedTuple):
    error: str = ""


class Cancelled(NamedTuple):
    error: str = ""


class Skipped(NamedTuple):
    note: str = ""
    reason: Reason = Reason.GATE_CLOSED


class Waiting(NamedTuple):
    """Somebody else goes on with it, and has until the deadline to answer."""

    deadline: datetime


Outcome: TypeAlias = Succeeded | Failed | TimedOut | Cancelled | Skipped | Waiting


class Settlement(NamedTuple):
    """One run's report, on its way to the store: fenced by the token with which it was claimed."""

    run_id: str
    token: int
    outcome: Outcome
    started: datetime | None
    ended: datetime
