"""Event handlers of an app: a loop per cursor reads the durable event log; event targets publish to them directly."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias

from ..clock import Clock
from ..errors import StoreError
from ..model.events.event import EventKind, NumberedEvent
from ..model.refusals import refuse
from ..ports.full_store import FullStore
from ..store_retry import StoreRetry

LOG: Final = logging.getLogger("horae")
_POLL_SECONDS: Final = 10.0
"""Polls for events of other processes; a write in this process wakes the loop at once."""
_LONE_POLL_SECONDS: Final = 60.0
"""The same where no other node runs, and every other process notifies this one of its writes."""
_NOTIFIED_SECONDS: Final = 1.0
"""From the notification of another process to the next poll: one poll covers many of them."""
_BATCH_SIZE: Final = 500
_MAX_BACKOFF: Final = 1.0
TRIGGERED: Final = "task.triggered"
_CURSOR_PREFIX: Final = "listener:"


class Event(NamedTuple):
    """An event. `number` is its position in the log; an event published by a target has none, and has `data` instead."""

    kind: str
    at: datetime
    owner: str
    task_id: str
    run_id: str | None = None
    detail: str | None = None
    number: int | None = None
    data: Mapping[str, Any] | None = None


Handler: TypeAlias = Callable[[Event], Awaitable[None] | None]


def show_always(_body: Mapping[str, Any]) -> bool:
    return True


class _Listener(NamedTuple):
    pattern: str
    handler: Handler
    resume: str | None
    shows: Callable[[Mapping[str, Any]], bool] = show_always
    """Whether the handler shows this event to a user: only then it counts as a listener."""


class Listeners:
    """Calls handlers one after the other, in the order of the log; an exception of a handler is logged and skipped."""

    def __init__(self, store: Callable[[], FullStore], clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._listeners: list[_Listener] = []
        self._wakeup = asyncio.Event()
        self._notified: asyncio.TimerHandle | None = None
        self.is_alone: Callable[[], bool] = lambda: False
        """Whether every event of another process follows a notification."""
        self._closing = False
        self._loops: list[asyncio.Task[None]] = []
        self._handler_tasks: set[asyncio.Task[None]] = set()

    def with_clock(self, clock: Clock) -> Listeners:
        """Return a copy with the same handlers on another clock."""
        other = Listeners(self._store, clock)
        other._listeners = self._listeners
        return other

    def add(
        self,
        pattern: str,
        handler: Handler,
        resume: str | None,
        shows: Callable[[Mapping[str, Any]], bool] = show_always,
    ) -> None:
        kinds = [*(kind.value for kind in EventKind), TRIGGERED]
        if not any(fnmatchcase(kind, pattern) for kind in kinds) and "*" not in pattern and "." not in pattern:
            raise refuse("bad_choice", name="event", value=pattern, allowed=", ".join(kinds))
        self._listeners.append(_Listener(pattern, handler, resume, shows))

    def patterns(self) -> tuple[str, ...]:
        """Return the patterns of the handlers that show a text event."""
        return tuple(each.pattern for each in self._listeners if each.shows({"text": ""}))

    def wake(self) -> None:
        """Wake the loops: events may have been written."""
        self._wakeup.set()

    def note_notification(self) -> None:
        """Poll soon: another process may have written events."""
        if self._loops and self._notified is None:
            self._notified = asyncio.get_running_loop().call_later(_NOTIFIED_SECONDS, self._wake_notified)

    def _wake_notified(self) -> None:
        self._notified = None
        self._wakeup.set()

    def publish(self, topic: str, body: Mapping[str, Any]) -> int:
        """Start the matching handlers without waiting for them, and return how many listeners there are."""
        event = Event(
            topic,
            self._clock.now(),
            str(body.get("accountUuid", "")),
            str(body.get("taskUuid", "")),
            None if body.get("runId") is None else str(body["runId"]),
            data=body,
        )
        for listener in self._listeners:
            if fnmatchcase(topic, listener.pattern):
                handling = asyncio.ensure_future(_handle(listener.handler, event))
                self._handler_tasks.add(handling)
                handling.add_done_callback(self._handler_tasks.discard)
        return sum(1 for each in self._listeners if fnmatchcase(topic, each.pattern) and each.shows(body))

    async def start(self) -> None:
        """Start one loop per cursor: at the end of the log, or for a `resume` name at its stored cursor."""
        if self._loops or not self._listeners:
            return
        self._wakeup, self._closing, self._notified = asyncio.Event(), False, None
        groups: dict[str | None, list[_Listener]] = {}
        for listener in self._listeners:
            groups.setdefault(listener.resume, []).append(listener)
        for resume, members in groups.items():
            number = await self._start_number(resume)
            self._loops.append(asyncio.ensure_future(self._follow(members, resume, number)))

    def stop(self) -> None:
        jobs, self._loops = self._loops, []
        for job in jobs:
            job.cancel()

    async def finish(self) -> None:
        """Handle the events written so far, then end the loops."""
        jobs, self._loops = self._loops, []
        self._closing = True
        self._wakeup.set()
        await asyncio.gather(*jobs, *self._handler_tasks, return_exceptions=True)

    async def _start_number(self, resume: str | None) -> int:
        cursor = None if resume is None else await self._store().read_metadata(_CURSOR_PREFIX + resume)
        if cursor is not None:
            return int(cursor)
        number = await self._store().last_event()
        if resume is not None:
            # Stored before the first event: a process that dies before handling one misses nothing from here on.
            await self._store().write_metadata(_CURSOR_PREFIX + resume, str(number))
        return number

    async def _follow(self, members: list[_Listener], resume: str | None, number: int) -> None:
        retry = StoreRetry("telling of listeners", self._clock, max_backoff=_MAX_BACKOFF)
        while True:
            self._wakeup.clear()
            closing, before = self._closing, number
            try:
                number = await self._handle_batch(members, resume, number)
            except StoreError as error:
                seconds = retry.failed(error)
                if closing:
                    return
                await self._wait_for_wakeup(seconds)
                continue
            retry.succeeded()
            if number == before and closing:
                return
            if number == before and not self._closing:
                await self._wait_for_wakeup()

    async def _handle_batch(self, members: list[_Listener], resume: str | None, number: int) -> int:
        """Handle the next batch of events and store the cursor; return the number of the last one handled."""
        events = await self._store().events(number, _BATCH_SIZE)
        for numbered in events:
            if numbered.event.kind is EventKind.TASK_TRIGGERED:
                continue  # the event target has published it to this process already, with its full data
            for listener in members:
                if fnmatchcase(numbered.event.kind, listener.pattern):
                    await _handle(listener.handler, _to_event(numbered))
        if events and resume is not None:
            await self._store().write_metadata(_CURSOR_PREFIX + resume, str(events[-1].number))
        return events[-1].number if events else number

    async def _wait_for_wakeup(self, seconds: float | None = None) -> None:
        if seconds is None:
            seconds = _LONE_POLL_SECONDS if self.is_alone() else _POLL_SECONDS
        timer = asyncio.get_running_loop().call_later(seconds, self._wakeup.set)
        try:
            await self._wakeup.wait()
        finally:
            timer.cancel()


async def _handle(handler: Handler, event: Event) -> None:
    try:
        result = handler(event)
        if inspect.isawaitable(result):
            await result
    except Exception:
        LOG.exception("a listener failed on %s of %s", event.kind, event.task_id)


def _to_event(numbered: NumberedEvent) -> Event:
    number, (kind, at, owner, task_id, run_id, detail) = numbered
    return Event(kind.value, at, owner, task_id, run_id, detail, number)
