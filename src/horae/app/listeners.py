"""Those who want to hear of what happens: from the durable log, and from targets that publish in this process."""

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
from ..model.events.event import EventKind, Numbered
from ..model.refusals import refuse
from ..runtime import Keeping
from ..store_retry import StoreRetry

LOG: Final = logging.getLogger("horae")
_LOOK_EVERY_SECONDS: Final = 10.0
"""Other processes write events too; whoever writes here rings at once."""
_HANDFUL: Final = 500
_LONGEST_PAUSE: Final = 1.0
TRIGGERED: Final = "task.triggered"
_CURSOR: Final = "listener:"


class Happening(NamedTuple):
    """What happened. `number` is its place in the log; what a target publishes has none, and brings `data` instead."""

    kind: str
    at: datetime
    owner: str
    task_id: str
    run_id: str | None = None
    detail: str | None = None
    number: int | None = None
    data: Mapping[str, Any] | None = None


Handler: TypeAlias = Callable[[Happening], Awaitable[None] | None]


def always(_body: Mapping[str, Any]) -> bool:
    return True


class _Listener(NamedTuple):
    pattern: str
    handler: Handler
    resume: str | None
    shows: Callable[[Mapping[str, Any]], bool] = always
    """Whether somebody gets to see what it is told: only then it counts as a listener."""


class Listeners:
    """Handlers run one after the other, in the order of the log; one that raises is told of in the log, and goes on."""

    def __init__(self, store: Callable[[], Keeping], clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._listeners: list[_Listener] = []
        self._bell = asyncio.Event()
        self._closing = False
        self._jobs: list[asyncio.Task[None]] = []
        self._handling: set[asyncio.Task[None]] = set()

    def on(self, clock: Clock) -> Listeners:
        """The same listeners in another time."""
        other = Listeners(self._store, clock)
        other._listeners = self._listeners
        return other

    def add(
        self, pattern: str, handler: Handler, resume: str | None, shows: Callable[[Mapping[str, Any]], bool] = always
    ) -> None:
        kinds = [*(kind.value for kind in EventKind), TRIGGERED]
        if not any(fnmatchcase(kind, pattern) for kind in kinds) and "*" not in pattern and "." not in pattern:
            raise refuse("bad_choice", name="event", value=pattern, allowed=", ".join(kinds))
        self._listeners.append(_Listener(pattern, handler, resume, shows))

    def patterns(self) -> tuple[str, ...]:
        """Of those that show a sentence to somebody."""
        return tuple(each.pattern for each in self._listeners if each.shows({"text": ""}))

    def look(self) -> None:
        """Something may have happened."""
        self._bell.set()

    def publish(self, topic: str, body: Mapping[str, Any]) -> int:
        """A target tells those who listen in this process, without waiting for them; how many there are."""
        told = Happening(
            topic,
            self._clock.now(),
            str(body.get("accountUuid", "")),
            str(body.get("taskUuid", "")),
            None if body.get("runId") is None else str(body["runId"]),
            data=body,
        )
        for listener in self._listeners:
            if fnmatchcase(topic, listener.pattern):
                job = asyncio.ensure_future(_handle(listener.handler, told))
                self._handling.add(job)
                job.add_done_callback(self._handling.discard)
        return sum(1 for each in self._listeners if fnmatchcase(topic, each.pattern) and each.shows(body))

    async def start(self) -> None:
        """From what happens next on; those who gave a name go on where they were."""
        if self._jobs or not self._listeners:
            return
        self._bell, self._closing = asyncio.Event(), False
        groups: dict[str | None, list[_Listener]] = {}
        for listener in self._listeners:
            groups.setdefault(listener.resume, []).append(listener)
        for resume, members in groups.items():
            number = await self._place(resume)
            self._jobs.append(asyncio.ensure_future(self._follow(members, resume, number)))

    def stop(self) -> None:
        jobs, self._jobs = self._jobs, []
        for job in jobs:
            job.cancel()

    async def finish(self) -> None:
        """What has happened is still told, then it ends."""
        jobs, self._jobs = self._jobs, []
        self._closing = True
        self._bell.set()
        await asyncio.gather(*jobs, *self._handling, return_exceptions=True)

    async def _place(self, resume: str | None) -> int:
        known = None if resume is None else await self._store().recall(_CURSOR + resume)
        if known is not None:
            return int(known)
        number = await self._store().last_event()
        if resume is not None:
            # Also for one that dies before it has heard anything: from here on nothing is missed.
            await self._store().remember(_CURSOR + resume, str(number))
        return number

    async def _follow(self, members: list[_Listener], resume: str | None, number: int) -> None:
        retry = StoreRetry("telling of listeners", self._clock, longest=_LONGEST_PAUSE)
        while True:
            self._bell.clear()
            closing, before = self._closing, number
            try:
                number = await self._tell(members, resume, number)
            except StoreError as error:
                seconds = retry.failed(error)
                if closing:
                    return
                await self._until_something_may_have_happened(seconds)
                continue
            retry.succeeded()
            if number == before and closing:
                return
            if number == before and not self._closing:
                await self._until_something_may_have_happened()

    async def _tell(self, members: list[_Listener], resume: str | None, number: int) -> int:
        """The next handful; where the last of them stands."""
        events = await self._store().events(number, _HANDFUL)
        for numbered in events:
            if numbered.event.kind is EventKind.TASK_TRIGGERED:
                continue  # the target itself has told those in this process, and with all that there is to say
            for listener in members:
                if fnmatchcase(numbered.event.kind, listener.pattern):
                    await _handle(listener.handler, _happening(numbered))
        if events and resume is not None:
            await self._store().remember(_CURSOR + resume, str(events[-1].number))
        return events[-1].number if events else number

    async def _until_something_may_have_happened(self, seconds: float = _LOOK_EVERY_SECONDS) -> None:
        timer = asyncio.get_running_loop().call_later(seconds, self._bell.set)
        try:
            await self._bell.wait()
        finally:
            timer.cancel()


async def _handle(handler: Handler, told: Happening) -> None:
    try:
        answer = handler(told)
        if inspect.isawaitable(answer):
            await answer
    except Exception:
        LOG.exception("a listener failed on %s of %s", told.kind, told.task_id)


def _happening(numbered: Numbered) -> Happening:
    number, (kind, at, owner, task_id, run_id, detail) = numbered
    return Happening(kind.value, at, owner, task_id, run_id, detail, number)
