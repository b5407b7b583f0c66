"""Prints events of runs and tasks while `horae up` runs: one line each, failures always, the others with `--verbose`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...app import Horae
from ...app.listeners import TRIGGERED, Event
from ...errors import StoreError
from ...message import Message
from ...model.entry import EntryKind
from ...model.events.event import EventKind
from ...model.ids import SHORT_TASK_DIGITS, short_ids
from ...model.reason import Reason, describe_reason
from ...model.run import Run
from ...model.task import TaskState
from ...schedule.preview import make_fires
from ...store_retry import StoreRetry, repeat_with_backoff
from ...wire.instants import milliseconds, utc
from ..messages import operating_messages as words
from .formats import error_text
from .printer import Printer
from .styled_text import Cell, Style, StyledText

_NAME_COLUMN: Final = 16
_MAX_NAMES: Final = 4_096
_CHECK_SECONDS: Final = 30.0
_LONG_OVERDUE: Final = timedelta(seconds=30)
_ALWAYS: Final = frozenset(
    {EventKind.RUN_FAILED, EventKind.RUN_TIMED_OUT, EventKind.RUN_LOST, EventKind.RUN_RETRYING, EventKind.TASK_FAILED}
)
_FAILED: Final = frozenset({EventKind.RUN_FAILED, EventKind.RUN_TIMED_OUT, EventKind.RUN_LOST})
_MAX_FAILED: Final = 4_096
_SHOWN: Final[dict[str, tuple[str, Style, Message]]] = {
    EventKind.RUN_FAILED: ("✕", "bad", words.RUN_FAILED),
    EventKind.RUN_TIMED_OUT: ("✕", "bad", words.RUN_TIMED_OUT),
    EventKind.RUN_LOST: ("!", "odd", words.RUN_LOST),
    EventKind.RUN_RETRYING: ("↻", "odd", words.RETRYING),
    EventKind.TASK_FAILED: ("✕", "bad", words.GAVE_UP),
    EventKind.RUN_SUCCEEDED: ("✓", "good", words.RUN_SUCCEEDED),
    EventKind.RUN_SKIPPED: ("⊘", "dim", words.RUN_SKIPPED),
}
_VERBOSE: Final = _ALWAYS | {EventKind.RUN_SUCCEEDED, EventKind.RUN_SKIPPED}


class EventFollower:
    """Listener for all events of an app. Made before the app is opened, so that it receives the first event."""

    def __init__(self, app: Horae, out: Printer, *, verbose: bool, texts_only: bool = False) -> None:
        """`texts_only`: print texts of tasks, and no events of the log, which another process prints."""
        self._app = app
        self.zone = app.zone
        """Zone of the printed times."""
        self._out = out
        self._kinds = _VERBOSE if verbose else _ALWAYS
        self._names: dict[str, str] = {}
        self._failed: dict[str, set[str]] = {}
        """By task, the runs whose failure was printed with its consequence; the oldest tasks are dropped."""
        self._given_up: set[str] = set()
        self._started = asyncio.Event()
        self._waiting = (0, 0)
        """Stranded and long overdue tasks at the last check."""
        pattern = TRIGGERED if texts_only else "*"
        app._listen(pattern, self.on_event, self._shows)  # noqa: SLF001 - not part of the public API

    def _shows(self, body: Mapping[str, Any]) -> bool:
        """Whether this counts as a listener for an event: a terminal or a program reads it, not a log file."""
        return body.get("text") is not None and (self._out.json or sys.stdout.isatty())

    def start(self) -> None:
        """Print events from now on; earlier ones were held back, and come first."""
        self._started.set()

    async def on_event(self, event: Event) -> None:
        await self._started.wait()
        if event.data is not None:
            if event.data.get("text") is not None:
                self._show_text(event)
        elif event.kind in self._kinds or self._is_recovery(event):
            await self._show_event(event)

    def _is_recovery(self, event: Event) -> bool:
        """Whether this success follows a printed failure; it is then printed too."""
        return event.kind == EventKind.RUN_SUCCEEDED and event.task_id in self._failed

    def _show_text(self, event: Event) -> None:
        data = event.data or {}
        late = event.at - datetime.fromisoformat(str(data["due"]))
        name, text = str(data.get("title", "")), str(data["text"])
        if self._out.json:
            shown = {"type": "task.said", "task": name, "text": text, "lateness_ms": milliseconds(late)}
            self._out.each({**shown, "at": utc(event.at), "task_id": data.get("taskUuid")})
        else:
            self._line(event.at, ("▸", "good"), name, (text, StyledText(f"  +{_milliseconds(late)} ms", "dim")))

    async def _show_event(self, event: Event) -> None:
        name, run = await self._load(event)
        known = self._failed.get(event.task_id, set())
        if event.kind == EventKind.RUN_SUCCEEDED:
            self._failed.pop(event.task_id, None)
        if self._out.json:
            self._out.each(_json(event, name, run))
            self._remember(event)
            return
        if self._is_shown(event, known):
            return
        symbol, style, message = _SHOWN[event.kind]
        text = self._out.translate(message, **self._facts(event, run))
        if event.kind in _FAILED and run is not None:
            text += await self._consequence(run)
            self._remember(event)
        late = None if run is None or run.lateness is None else f"  +{_milliseconds(run.lateness)} ms"
        self._line(event.at, (symbol, style), name, (text, StyledText(late or "", "dim")))

    async def _load(self, event: Event) -> tuple[str, Run | None]:
        """Return the name of the task and the run; while the store fails, the id and None."""
        try:
            name = await self._name(event.task_id)
            return name, None if event.run_id is None else await self._app.store.run(event.run_id, None)
        except StoreError:
            return self._names.get(event.task_id, event.task_id), None

    def _is_shown(self, event: Event, known: set[str]) -> bool:
        """Whether the line of a failure already contains this event."""
        if event.kind == EventKind.TASK_FAILED and event.task_id in self._given_up:
            self._given_up.discard(event.task_id)
            return True
        return event.kind == EventKind.RUN_RETRYING and event.run_id in known

    async def _consequence(self, run: Run) -> str:
        """Return the consequence of a failure for its line: a retry, or that the task has given up."""
        try:
            facts = await self._app.store.facts(run.task_id, None)
        except StoreError:
            return ""
        if facts is None:
            return ""
        for entry in facts.entries:
            if entry.kind is EntryKind.RETRY and (entry.origin, entry.planned) == (run.origin, run.planned):
                return self._out.translate(words.TRIED_AGAIN, at=self._clock_time(entry.due.isoformat()))
        if facts.status.state is TaskState.FAILED:
            self._given_up.add(run.task_id)
            short = short_ids((run.task_id,), SHORT_TASK_DIGITS)[run.task_id]
            return self._out.translate(words.GIVEN_UP, id=short, because=self._because(facts.status.reason))
        return ""

    def _because(self, reason: Reason | None) -> str:
        """Return why a task has given up, unless the failure itself says it."""
        if reason in (None, Reason.TARGET_FAILED, Reason.NOT_CALLED):
            return ""
        english = self._out.language == "en"
        text = describe_reason(reason, self._out.language).rstrip("." if english else "。")
        return f": {text}" if english else f"：{text}"

    def _remember(self, event: Event) -> None:
        if event.kind in _FAILED and event.run_id is not None:
            if len(self._failed) >= _MAX_FAILED:
                self._failed.pop(next(iter(self._failed)))
            self._failed.setdefault(event.task_id, set()).add(event.run_id)

    def _facts(self, event: Event, run: Run | None) -> dict[str, object]:
        reason = None if event.detail not in set(Reason) else Reason(event.detail)
        because = event.detail or "" if reason is None else describe_reason(reason, self._out.language)
        # The other lines are a traceback.
        error = [] if run is None else error_text(run, self._out.language).strip().splitlines()[:1]
        return {
            "attempt": 1 if run is None else run.attempt,
            "again": ""
            if run is None or run.attempt == 1
            else self._out.translate(words.ON_ATTEMPT, attempt=run.attempt),
            "error": error[0] if error else because,
            "because": because,
            "at": self._clock_time(event.detail),
            "id": event.task_id,
        }

    def _clock_time(self, detail: str | None) -> str:
        try:
            moment = datetime.fromisoformat(detail or "")
        except ValueError:
            return detail or ""
        return make_fires(self.zone, [moment])[0].local.strftime("%H:%M:%S")

    def _line(self, at: datetime, symbol: tuple[str, Style], name: str, rest: tuple[str | StyledText, ...]) -> None:
        time = make_fires(self.zone, [at])[0].local.strftime("%H:%M:%S.%f")[:-3]
        sign, style = symbol
        cell: Cell = (StyledText(time, "dim"), "  ", StyledText(sign, style), " ", name, "  ", *rest)
        self._out.line(cell, flush=True, hang=_NAME_COLUMN)

    async def _name(self, task_id: str) -> str:
        found = self._names.get(task_id)
        if found is None:
            facts = await self._app.store.facts(task_id, None)
            found = task_id if facts is None else facts.task.name
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()
            self._names[task_id] = found
        return found

    async def watch_waiting(self) -> None:
        """Poll for stranded and overdue tasks, which cause no events, and print when their number has grown."""
        clock = self._app.clock
        await repeat_with_backoff(self._check_waiting, StoreRetry("notice of waiting tasks", clock), clock)

    async def _check_waiting(self) -> float:
        """Check once; returns the seconds until the next check."""
        now = self._app.clock.now()
        counts = await self._app.store.waiting(None, now)
        stranded, overdue = counts.stranded, counts.overdue
        if overdue:
            overdue = (await self._app.store.waiting(None, now - _LONG_OVERDUE)).overdue
        before, self._waiting = self._waiting, (stranded, overdue)
        if stranded > before[0]:
            self._show_waiting("tasks.stranded", words.STRANDED, stranded)
        if overdue and not before[1]:
            self._show_waiting("tasks.overdue", words.LONG_OVERDUE, overdue)
        return _CHECK_SECONDS

    def _show_waiting(self, kind: str, message: Message, number: int) -> None:
        now = self._app.clock.now()
        if self._out.json:
            self._out.each({"type": kind, "at": utc(now), "number": number})
        else:
            self._line(now, ("!", "odd"), "", (self._out.translate(message, number=number),))


def _json(event: Event, name: str, run: Run | None) -> dict[str, Any]:
    return {
        "type": event.kind,
        "at": utc(event.at),
        "task": name,
        "task_id": event.task_id,
        "run_id": event.run_id,
        "detail": event.detail,
        "error": None if run is None else run.error,
        "attempt": None if run is None else run.attempt,
        "lateness_ms": None if run is None else milliseconds(run.lateness),
    }


def _milliseconds(length: timedelta) -> int:
    return round(length / timedelta(milliseconds=1))
