"""Call of a gate: the `Invocation` that its target sees, and the verdict in the outcome of that call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..model.gate import GATE_STATE_KIND, NO_DATA, Gate, GateVerdict, NoVerdictError, read_verdict
from ..model.inputs.placeholders import TemplateTask, fill_placeholders, recognise_template
from ..model.lanes.idle import YieldReason
from ..model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut
from ..model.record import Record
from ..model.run import Run
from ..model.task import Target, Task
from ..ports.records import Records

if TYPE_CHECKING:
    from .active_run import ActiveRun
    from .run_messages import RunMessages
    from .run_records import RunRecords

_CUT: Final = "…"


class GateFailedError(Exception):
    """The gate gave no verdict; the text says why."""


async def load_gate_state(store: Records, run: Run) -> Record | None:
    return await store.get_record(GATE_STATE_KIND, run.task_id, run.owner)


class GateCall:
    """The run as the target of its gate sees it. A heartbeat does not move the deadline of a gate."""

    __slots__ = ("_active", "gate_state", "task")

    def __init__(self, active: ActiveRun, gate: Gate, record: Record | None) -> None:
        self._active = active
        self.task = _gate_task(active, gate)
        self.gate_state: str | None = NO_DATA if record is None else record.body

    @property
    def run(self) -> Run:
        return self._active.run

    @property
    def key(self) -> str:
        return self._active.key

    @property
    def trace(self) -> str:
        return self._active.trace

    @property
    def previous(self) -> str:
        return self._active.previous

    @property
    def gate(self) -> str:
        return NO_DATA

    @property
    def messages(self) -> RunMessages:
        return self._active.messages

    @property
    def records(self) -> RunRecords:
        return self._active.records

    @property
    def deadline(self) -> datetime:
        return self._active.deadline

    @property
    def cancelled(self) -> bool:
        return self._active.cancelled

    @property
    def yield_requested(self) -> bool:
        return self._active.yield_requested

    @property
    def yield_reason(self) -> YieldReason | None:
        return self._active.yield_reason

    def log(self, text: str, level: str = "info") -> None:
        self._active.log(text, level)

    def progress(self, done: float, text: str = "") -> None:
        self._active.log(f"{min(max(done, 0.0), 1.0):.4f} {text}".rstrip(), "progress")

    def heartbeat(self) -> None:
        """Do nothing: the gate has its own timeout."""

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        """Do nothing: only a run is idle."""

    def on_cancel(self, action: Callable[[], None]) -> None:
        self._active.on_cancel(action)


def _gate_task(active: ActiveRun, gate: Gate) -> Task:
    """Return the task with the gate as its target, under the gate's own timeout."""
    policies = replace(active.task.policies, timeout=gate.timeout, max_duration=None)
    task = recognise_template(active.task._replace(target=Target(gate.kind, gate.spec), policies=policies))
    if task.__class__ is not TemplateTask:
        return task
    previous = None if active.run.chain is None else active.previous
    return fill_placeholders(task, active.run, active.key, previous)


def verdict_of_outcome(gate: Gate, outcome: Outcome, at: datetime, version: int | None) -> GateVerdict:
    """Return the verdict of a gate's call; raises `GateFailedError`."""
    match outcome:
        case Succeeded(result=result):
            pass
        case Failed(error=error) | TimedOut(error=error) | Cancelled(error=error):
            raise GateFailedError(error or "it was not over in time")
        case Skipped(note=note):
            # A function that raises `Skip` says that there is nothing to do.
            return GateVerdict(is_open=False, at=at, version=version, reason=note)
        case _:
            raise GateFailedError("it gave no verdict in its answer")
    try:
        verdict = read_verdict(_answer(gate, result), at, version)
    except NoVerdictError as problem:
        raise GateFailedError(str(problem)) from None
    return verdict if gate.state else verdict._replace(state=None)


def _answer(gate: Gate, result: str | None) -> Any:
    """Return the decoded answer in a result: the last line of output, the body, or the returned value."""
    value = None if result is None else _decode(result)
    if gate.kind == "http" and isinstance(value, dict):
        if value.get("truncated"):
            raise NoVerdictError("its answer is too large")
        value = value.get("body")
    elif gate.kind == "command" and isinstance(value, dict):
        lines = str(value.get("output", "")).rstrip().splitlines()
        if not lines or (len(lines) == 1 and lines[0].startswith(_CUT)):
            raise NoVerdictError("its output has no last line, or one that is too large")
        value = _decode(lines[-1])
    elif isinstance(value, str) and value.endswith(_CUT):
        raise NoVerdictError("its answer is too large")
    return value


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
