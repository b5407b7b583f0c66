"""Run: one attempt at one occurrence, or a skipped row with the reason why there was no attempt; states and transitions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from .inputs.run_input import RunInput
from .origin import ChainPlace, RootOccurrence
from .origin import Origin as Origin  # noqa: PLC0414 - part of a run
from .reason import Reason


class RunState(StrEnum):
    CLAIMED = "claimed"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


_TERMINAL: Final = frozenset(
    {RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED, RunState.SKIPPED}
)

TRANSITIONS: Final[dict[RunState, frozenset[RunState]]] = {
    # Only `at_most_once` is `claimed` before it is `running`, which proves that its target was never called. A gate is
    # asked before: a closed or failing one ends the run from here, and so does what the target would not be called for.
    RunState.CLAIMED: _TERMINAL - {RunState.SUCCEEDED} | {RunState.RUNNING},
    RunState.RUNNING: _TERMINAL | {RunState.WAITING},
    # An external system holds the run, so no node's death can lose it.
    RunState.WAITING: _TERMINAL - {RunState.LOST} | {RunState.RUNNING},
    **{state: frozenset() for state in _TERMINAL},
}

LIVE_STATES: Final = frozenset(RunState) - _TERMINAL
INITIAL_STATES: Final = frozenset({RunState.CLAIMED, RunState.RUNNING, RunState.SKIPPED})

_MAX_REPR: Final = 60
"""Characters of a result or an error in `repr()`."""


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive occurrences recorded in one row: the first, the last and their number."""

    first: datetime
    last: datetime
    count: int


class Run(NamedTuple):
    """`planned` is the last instant of the `span`, if there is one. `attempt` rises with every run of the occurrence; `forgiven` of them were lost and do not count as tries; in
    `deaths` of those the whole process died. `cancel` is the reason of a requested cancellation. `input` replaces or changes the payload of
    the task, for this run and the following attempts."""

    id: str
    task_id: str
    owner: str
    origin: Origin
    planned: datetime
    due: datetime
    attempt: int
    state: RunState
    reason: Reason | None = None
    token: int = 0
    node: str | None = None
    claimed: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    deadline: datetime | None = None
    span: Span | None = None
    forgiven: int = 0
    deaths: int = 0
    alone: bool = False
    in_order: bool = False
    cancel: Reason | None = None
    lanes: tuple[str, ...] = ()
    result_json: str | None = None
    error: str | None = None
    input: RunInput | None = None
    chain: ChainPlace | None = None

    @property
    def root(self) -> RootOccurrence:
        """The occurrence that its chain began with: its own, unless a predecessor started it."""
        if self.chain is None or self.chain.root is None:
            return RootOccurrence(self.task_id, self.origin, self.planned)
        return self.chain.root

    @property
    def live(self) -> bool:
        return self.state in LIVE_STATES

    @property
    def tries(self) -> int:
        """Number of attempts used up, including this one."""
        return self.attempt - self.forgiven

    @property
    def result(self) -> Any:
        """Returned value, decoded from JSON; None when there was none, or the run failed. A result that was truncated
        because it is too large is text."""
        if self.result_json is None:
            return None
        try:
            return json.loads(self.result_json)
        except ValueError:
            return self.result_json

    @property
    def value(self) -> Any:
        """Alias of `result`."""
        return self.result

    def __repr__(self) -> str:
        parts = [self.state.value if self.reason is None else f"{self.state.value} ({self.reason.value})"]
        parts += [f"planned {self.planned:%Y-%m-%d %H:%M:%S} UTC", f"attempt {self.attempt}"]
        if self.span is not None:
            parts.append(f"{self.span.count} occurrences")
        if self.error is not None:
            parts.append(f"error {_shorten(self.error)!r}")
        elif self.result_json is not None:
            parts.append(f"result {_shorten(self.result_json)}")
        return f"<run {self.id} {', '.join(parts)}>"

    @property
    def occurrence_due(self) -> datetime:
        """Due instant of the occurrence. A later attempt has a due instant of its own that does not show the task's jitter,
        so its occurrence counts from the planned instant."""
        return self.due if self.attempt == 1 else min(self.planned, self.due)

    @property
    def lateness(self) -> timedelta | None:
        """Time from the due instant of the occurrence to the start of this attempt, retries and recoveries included."""
        return None if self.started is None else self.started - self.occurrence_due


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_REPR else text[: _MAX_REPR - 1] + "…"
