"""Gate of a task: a cheap check before an expensive run; its verdict, its back-off, and the state that it keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from .limits import NOTE_CHARACTERS, RESULT_BYTES, to_storable
from .record import Record, RecordWrite
from .text.field_checks import check_choice, check_duration, check_flag, check_type

GateKind: TypeAlias = Literal["command", "http", "function"]
GATE_KINDS: Final[tuple[GateKind, ...]] = ("command", "http", "function")
MAX_GATE_TIMEOUT: Final = timedelta(minutes=10)
GATE_DATA_BYTES: Final = RESULT_BYTES
"""Bytes of the data that an open gate gives to its run, as JSON."""
GATE_STATE_BYTES: Final = 16 * 1024
MAX_GATE_FAILURES: Final = 8
"""Consecutive failures after which the task is paused."""
_FIRST_WAIT: Final = timedelta(minutes=2)
_LONGEST_WAIT: Final = timedelta(minutes=60)
GATE_STATE_KIND: Final = "gate_state"
"""Kind of the record with the state of a gate; its key is the id of the task."""
NO_DATA: Final = "null"


@dataclass(frozen=True, slots=True)
class Gate:
    """A target that is called before the target of the task; `spec` is its specification as JSON text.

    With `state` the gate gets the state that it returned before, and may return another one.
    """

    kind: GateKind
    spec: str
    timeout: timedelta = timedelta(seconds=30)
    state: bool = True

    def __post_init__(self) -> None:
        check_choice("gate.kind", self.kind, GATE_KINDS)
        check_type("gate.spec", self.spec, str)
        check_duration("gate.timeout", self.timeout, MAX_GATE_TIMEOUT)
        check_flag("gate.state", self.state)


class GateVerdict(NamedTuple):
    """Answer of a gate. `data` and `state` are JSON text; `state` None: unchanged.

    `version` is that of the stored state which the gate was given, None where there was none. `at` is the instant of the
    answer.
    """

    is_open: bool
    at: datetime
    data: str = NO_DATA
    state: str | None = None
    version: int | None = None
    reason: str = ""


class GateProgress(NamedTuple):
    """What an attempt at an occurrence knows of its gate: the consecutive failures, or the open verdict.

    With `only` the run is a check of the gate: its target is not called.
    """

    failures: int = 0
    verdict: GateVerdict | None = None
    only: bool = False


class GateLimit(NamedTuple):
    """Most bytes of the data, and of the state, of a verdict. `command` is what an admin types to change it, up to the number."""

    bytes: int = GATE_DATA_BYTES
    command: str = ""


DEFAULT_LIMIT: Final = GateLimit()


class NoVerdictError(ValueError):
    """An answer that is no verdict; the text says why."""


def gate_wait(failures: int) -> timedelta:
    """Return the wait after this number of consecutive failures: 2, 4, 8 … 60 minutes."""
    return min(_FIRST_WAIT * (1 << min(failures - 1, 16)), _LONGEST_WAIT)


def read_verdict(answer: Any, at: datetime, version: int | None = None) -> GateVerdict:
    """Return the verdict of a decoded answer; raises `NoVerdictError`.

    `run` says whether the run goes on; `wakeAgent` is another name of it.
    """
    if not isinstance(answer, dict):
        raise NoVerdictError('it gave no verdict such as {"run": true}')
    name = "wakeAgent" if "wakeAgent" in answer and "run" not in answer else "run"
    if not isinstance(answer.get(name), bool):
        raise NoVerdictError(f'"{name}" of its verdict is not true or false')
    state = answer.get("state")
    return GateVerdict(
        answer[name],
        at,
        _dump("data", answer.get("data"), GATE_DATA_BYTES),
        None if state is None else _dump("state", state, GATE_STATE_BYTES),
        version,
        to_storable(_text(answer.get("reason")), NOTE_CHARACTERS),
    )


def check_output(verdict: GateVerdict, limit: GateLimit) -> None:
    """Refuse a verdict beyond the quota of its owner; raises `NoVerdictError`. The bounds of any verdict are checked before."""
    for name, text in (("data", verdict.data), ("state", verdict.state or "")):
        size = len(text.encode())
        if size > limit.bytes:
            raise NoVerdictError(
                f"the {name} of its verdict has {size} bytes; the quota gate_bytes allows {limit.bytes}. "
                f"An admin changes it: {limit.command}{size}"
            )


def state_write(task_id: str, owner: str, verdict: GateVerdict) -> RecordWrite | None:
    """Return the write of a verdict's state; None if it leaves the state alone."""
    if verdict.state is None:
        return None
    return RecordWrite(Record(GATE_STATE_KIND, task_id, owner, verdict.state), verdict.version)


def verdict_json(verdict: GateVerdict) -> str:
    """Return a verdict as the result of a check, as JSON text; data that would make it too large is left out."""
    state = "null" if verdict.state is None else verdict.state
    head = f'{{"run":{json.dumps(verdict.is_open)},"reason":{json.dumps(verdict.reason, ensure_ascii=False)}'
    text = f'{head},"state":{state},"data":{verdict.data}}}'
    return (
        text
        if len(text.encode()) <= RESULT_BYTES
        else f'{head},"state":{state},"data_bytes":{len(verdict.data.encode())}}}'
    )


def encode_progress(progress: GateProgress) -> str:
    if progress.only:
        return '{"only":true}'
    verdict = progress.verdict
    if verdict is None:
        return f'{{"failures":{progress.failures}}}'
    kept = {"at": verdict.at.isoformat(), "version": verdict.version, "reason": verdict.reason}
    return json.dumps({**kept, "state": verdict.state, "data": verdict.data}, ensure_ascii=False, separators=(",", ":"))


def decode_progress(value: dict[str, Any]) -> GateProgress:
    if "only" in value:
        return GateProgress(only=True)
    if "failures" in value:
        return GateProgress(value["failures"])
    kept = {name: value[name] for name in ("data", "state", "version", "reason")}
    return GateProgress(0, GateVerdict(is_open=True, at=datetime.fromisoformat(value["at"]), **kept))


def _text(reason: Any) -> str:
    return "" if reason is None else reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False)


def _dump(name: str, value: Any, most: int) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # a lone surrogate, which no store can keep, stays an escape
        text = json.dumps(value, separators=(",", ":"))
        size = len(text)
    if size > most:
        raise NoVerdictError(f"the {name} of its verdict has {size} bytes; at most {most} are allowed")
    return text
