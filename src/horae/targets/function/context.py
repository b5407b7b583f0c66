"""What a function sees of its run, and the few things that it may say while it goes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...model.limits import LOG_LINE_CHARACTERS
from .storable_text import kept

if TYPE_CHECKING:  # a child process loads this file, and the ports would bring the whole schedule room along
    from ...ports.target import Invocation


class Occasion(NamedTuple):
    """The facts of one run. Plain values, so that they can be handed to a child process."""

    task_id: str
    run_id: str
    name: str
    owner: str
    key: str
    trace: str
    attempt: int
    planned: datetime
    due: datetime
    started: datetime
    first: datetime
    last: datetime
    times: int
    payload: str


class Voice(Protocol):
    """The live part of a run, which moves on while the function works. May be used from any thread."""

    @property
    def deadline(self) -> datetime: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def yield_requested(self) -> bool: ...
    def log(self, text: str, level: str = "info") -> None: ...
    def progress(self, done: float, text: str = "") -> None: ...
    def heartbeat(self) -> None: ...


def occasion_of(invocation: Invocation) -> Occasion:
    task, run = invocation.task, invocation.run
    span = run.span
    return Occasion(
        task.id,
        run.id,
        task.name,
        run.owner,
        invocation.key,
        invocation.trace,
        run.attempt,
        run.planned,
        run.occurrence_due,
        run.started or run.claimed or run.due,
        run.planned if span is None else span.first,
        run.planned if span is None else span.last,
        1 if span is None else span.count,
        task.payload,
    )


class RunLog:
    """The run's own log, with the manners of `logging`: `log.info("%s rows", rows)`."""

    __slots__ = ("_voice",)

    def __init__(self, voice: Voice) -> None:
        self._voice = voice

    def debug(self, text: object, *values: object) -> None:
        self._write("debug", text, values)

    def info(self, text: object, *values: object) -> None:
        self._write("info", text, values)

    def warning(self, text: object, *values: object) -> None:
        self._write("warning", text, values)

    def error(self, text: object, *values: object) -> None:
        self._write("error", text, values)

    def _write(self, level: str, text: object, values: tuple[object, ...]) -> None:
        self._voice.log(kept(_formatted(str(text), values), LOG_LINE_CHARACTERS), level)


def _formatted(text: str, values: tuple[object, ...]) -> str:
    try:
        return text % values if values else text
    except (TypeError, ValueError):  # a slip in a log line must not fail the work
        return f"{text} {values!r}"


class Context:
    """Handed to a function that asks for it by annotation, or by a parameter named `ctx` or `context`."""

    __slots__ = ("_occasion", "_voice")

    def __init__(self, occasion: Occasion, voice: Voice) -> None:
        self._occasion = occasion
        self._voice = voice

    @property
    def task_id(self) -> str:
        return self._occasion.task_id

    @property
    def run_id(self) -> str:
        return self._occasion.run_id

    @property
    def name(self) -> str:
        """The task's name."""
        return self._occasion.name

    @property
    def owner(self) -> str:
        return self._occasion.owner

    @property
    def key(self) -> str:
        """The idempotency key: the same for every attempt at this occurrence."""
        return self._occasion.key

    @property
    def trace(self) -> str:
        """The W3C trace context, to be passed on to whatever is called from here."""
        return self._occasion.trace

    @property
    def attempt(self) -> int:
        return self._occasion.attempt

    @property
    def planned(self) -> datetime:
        """The instant that the schedule named."""
        return self._occasion.planned

    @property
    def due(self) -> datetime:
        """The planned instant with the task's jitter."""
        return self._occasion.due

    @property
    def lateness(self) -> timedelta:
        """How long after its due instant the run started."""
        return self._occasion.started - self._occasion.due

    @property
    def first(self) -> datetime:
        """The first planned instant that this run stands for; with `last` and `count` more than one when merged."""
        return self._occasion.first

    @property
    def last(self) -> datetime:
        return self._occasion.last

    @property
    def count(self) -> int:
        return self._occasion.times

    @property
    def payload(self) -> Any:
        """The payload as JSON says it, before any annotation; a fresh value each time."""
        return json.loads(self._occasion.payload or "null")

    @property
    def log(self) -> RunLog:
        return RunLog(self._voice)

    @property
    def deadline(self) -> datetime:
        """When silence becomes a timeout; each sign of life moves it."""
        return self._voice.deadline

    @property
    def cancelled(self) -> bool:
        """Somebody wants this run to end: a function that works in steps looks here between them."""
        return self._voice.cancelled

    @property
    def yield_requested(self) -> bool:
        """The node wants to stop: what can end early, should."""
        return self._voice.yield_requested

    def progress(self, done: float, text: str = "") -> None:
        """A sign of life that people can see; `done` is between 0 and 1."""
        self._voice.progress(min(1.0, max(0.0, float(done))), kept(str(text), LOG_LINE_CHARACTERS))

    def heartbeat(self) -> None:
        """A sign of life."""
        self._voice.heartbeat()
