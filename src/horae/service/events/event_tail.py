"""Fan-out of the event log: one reader polls the log for all event streams of a process, and delivers events in order.

A listener that resumes from a cursor reads the durable log from there, page by page, and joins the shared reader when
it has caught up; nothing is lost and nothing comes twice. A listener whose queue is full goes back to the log, and one
that falls too far behind is closed, and can resume.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, TypeAlias

from ...clock import Clock
from ...errors import StoreError
from ...model.accounts.principal import Principal, Scope
from ...model.accounts.system_owner import is_system_owner
from ...model.events.event import Event, EventKind, NumberedEvent, SequencedEvent
from ...ports.store import Feed
from ...store_retry import StoreRetry
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_position
from ..runs.log_watch import LogState
from .event_bodies import EncodedEvent, EventEncoder
from .owner_sequence import OwnerEvents, OwnerSequence, event_scope

POLL_SECONDS: Final = 0.05
"""Seconds between two polls while there are listeners: other processes write events, too."""
MAX_BACKOFF_SECONDS: Final = 2.0
PAGE_SIZE: Final = 500
MAX_QUEUED_BYTES: Final = 256 * 1024
"""Bytes queued for one listener; beyond that it reads from the log instead."""
MAX_EVENTS_BEHIND: Final = 10_000
"""A listener that went back to the log and is so many events behind is closed."""


class EventFilter(NamedTuple):
    """Filter of events; None: all kinds, all tasks. `system`: events of system tasks instead of those of all others."""

    kinds: frozenset[EventKind] | None = None
    task_id: str | None = None
    system: bool = False

    def matches(self, event: Event) -> bool:
        if self.task_id is None and is_system_owner(event.owner) is not self.system:
            return False
        if self.kinds is not None and event.kind not in self.kinds:
            return False
        return self.task_id is None or event.task_id == self.task_id


ALL_EVENTS: Final = EventFilter()


class Batch:
    """Events for several listeners; each rendering is cached and shared by all of them."""

    __slots__ = ("_rendered", "events", "size")

    def __init__(self, events: tuple[EncodedEvent, ...]) -> None:
        self.events = events
        self.size = sum(len(each.body) for each in events)
        self._rendered: dict[Callable[[Iterable[EncodedEvent]], bytes], bytes] = {}

    def render(self, render: Callable[[Iterable[EncodedEvent]], bytes]) -> bytes:
        """Return the rendering by this function; it is called once per batch."""
        rendering = self._rendered.get(render)
        if rendering is None:
            rendering = self._rendered[render] = render(self.events)
        return rendering


class ListenerClosed(Exception):  # noqa: N818 - names the event, not an error
    """The listener was closed. `cursor` is where it can resume."""

    def __init__(self, reason: str, cursor: int) -> None:
        self.reason = reason
        self.cursor = cursor
        super().__init__(f"{reason} after {cursor}")


class Listener:
    """One event stream. `next` returns the next batch, a change of the log that the stream follows, or None when the stream
    should send a keep-alive."""

    def __init__(
        self, tail: EventTail, scope: str | None, event_filter: EventFilter, position: int, cursor: int
    ) -> None:
        self.scope = scope
        self.event_filter = event_filter
        self.position = position
        """Log position of the last event that it received or skipped."""
        self.cursor = cursor
        """Cursor to resume from, in the numbering of its scope: for an owner, the owner's number of its last event."""
        self._tail = tail
        self._sequence = OwnerSequence(tail.feed)
        if scope is not None:
            self._sequence.start(scope, position, cursor)
        self._live_after: int | None = None
        """Log position at which it joined the shared reader; earlier events are read from the log."""
        self._has_fallen_back = False
        self._needs_keep_alive = False
        self._log_state: LogState | None = None
        """Change of the followed log that is not sent yet; a later one replaces it."""
        self._queue: deque[Batch] = deque()
        self._queued_bytes = 0
        self._wake_up = asyncio.Event()
        self._close_reason: str | None = None
        self._is_idle = False
        self.sink: Callable[[Batch], bool] | None = None
        """Takes a batch synchronously, without waking a task; returns False if the listener has to queue it.

        Called only while nothing is queued.
        """

    async def next(self) -> Batch | LogState | None:
        """Wait for the next batch or change and return it; raises `ListenerClosed` after the listener was closed."""
        while self._close_reason is None:
            if self._live_after is None or self.position < self._live_after:
                batch = await self._read_log()
            elif self._queue:
                batch = self._take_queued()
            elif self._log_state is not None:
                state, self._log_state = self._log_state, None
                return state
            elif self._needs_keep_alive:
                self._needs_keep_alive = False
                return None
            else:
                self._wake_up.clear()
                self._is_idle = True
                try:
                    await self._wake_up.wait()
                finally:
                    self._is_idle = False
                continue
            if batch.events:
                return batch
        raise ListenerClosed(self._close_reason, self.cursor)

    def offer(self, batch: Batch) -> None:
        """Deliver or queue a batch without waiting; a listener with a full queue goes back to the log."""
        if self._close_reason is not None or self._live_after is None:
            return
        if self._is_idle and not self._queue and self._send_to_sink(batch):
            return
        if self._queue and self._queued_bytes + batch.size > MAX_QUEUED_BYTES:
            self._fall_back()
            return
        self._queue.append(batch)
        self._queued_bytes += batch.size
        self._wake_up.set()

    def _send_to_sink(self, batch: Batch) -> bool:
        """Fast path: a listener that has caught up takes the batch synchronously."""
        if self.sink is None or self.position < (self._live_after or 0) or batch.events[0].position <= self.position:
            return False
        if not self.sink(batch):
            return False
        self._move_to(batch.events[-1])
        return True

    def _move_to(self, last: EncodedEvent) -> None:
        self.position, self.cursor = last.position, last.cursor(self.scope)

    def close(self, reason: str) -> None:
        """Close the listener; it receives nothing more."""
        self._close_reason = self._close_reason or reason
        self._queue.clear()
        self._wake_up.set()

    def request_keep_alive(self) -> None:
        """Request a keep-alive, because there was no event for long."""
        self._needs_keep_alive = True
        self._wake_up.set()

    def announce_log(self, state: LogState) -> None:
        """Report that the followed log has changed."""
        self._log_state = state
        self._wake_up.set()

    def set_live(self, at: int) -> None:
        self._live_after = at
        self._has_fallen_back = False

    def _fall_back(self) -> None:
        self._tail.leave(self)
        self._live_after = None
        self._has_fallen_back = True
        self._queue.clear()
        self._queued_bytes = 0
        self._wake_up.set()

    def _take_queued(self) -> Batch:
        batch = self._queue.popleft()
        self._queued_bytes -= batch.size
        if batch.events[0].position <= self.position:
            # It read the log further than the shared reader had when it joined.
            batch = Batch(tuple(each for each in batch.events if each.position > self.position))
        if batch.events:
            self._move_to(batch.events[-1])
        return batch

    async def _read_log(self) -> Batch:
        """Read one page; at the end of the log, join the shared reader."""
        if self._has_fallen_back and self._tail.position - self.position > MAX_EVENTS_BEHIND:
            self.close("too slow")
            return Batch(())
        until = self._live_after
        events, is_last = await self._tail.page(self.scope, self.position)
        page = events if until is None else tuple(each for each in events if each.number <= until)
        encoded = await self._tail.encode(await self._sequence.number(page, self.position, self.event_filter.matches))
        if encoded:
            self._move_to(encoded[-1])
        if until is not None and (is_last or len(page) < len(events)):
            self.position = until
        elif page:
            self.position = page[-1].number
        if self.scope is None:
            self.cursor = self.position
        if is_last and until is None:
            self._tail.join(self)
        return Batch(encoded)


ListenerIndex: TypeAlias = dict[str | None, dict[str | None, dict[EventFilter, set[Listener]]]]
"""Listeners by scope, then by the task of their filter (None: all tasks), to match an event against few of them."""


class EventTail:
    """The shared reader. `encoder` encodes events. It polls only while there are listeners."""

    def __init__(
        self,
        feed: Feed,
        encoder: EventEncoder,
        clock: Clock,
        poll_seconds: float = POLL_SECONDS,
        log: OwnerEvents | None = None,
    ) -> None:
        self.feed = feed
        self._log = log or OwnerEvents(feed)
        self._sequence = OwnerSequence(feed)
        self._encoder = encoder
        self._clock = clock
        self._poll_seconds = poll_seconds
        self.position = 0
        """Log position up to which the shared reader has read."""
        self._listeners: ListenerIndex = {}
        self._count = 0
        self._reader: asyncio.Task[None] | None = None
        self._start_lock = asyncio.Lock()
        self._wake_up = asyncio.Event()

    @property
    def listener_count(self) -> int:
        """Number of listeners."""
        return self._count

    @asynccontextmanager
    async def listen(
        self, principal: Principal, event_filter: EventFilter = ALL_EVENTS, after: int | None = None
    ) -> AsyncIterator[Listener]:
        """Register a listener from that cursor on, in the numbering of the principal's scope; None: from new events on."""
        refuse_agent(principal, "events")
        principal.require_scope(Scope.READ)
        if after is not None:
            check_position("after", after)
        self._count += 1
        listener: Listener | None = None
        try:
            await self._start_reader()
            scope = event_scope(principal)
            if is_system_owner(principal.owner):
                event_filter = event_filter._replace(system=True)
            position, cursor = await self._find_start(scope, after)
            listener = Listener(self, scope, event_filter, position, cursor)
            if after is None:
                self.join(listener)
            yield listener
        finally:
            self._count -= 1
            if listener is not None:
                self.leave(listener)

    async def _find_start(self, scope: str | None, after: int | None) -> tuple[int, int]:
        """Return the log position and the cursor of a new listener."""
        if scope is None:
            start = self.position if after is None else after
            return start, start
        if after is not None:
            return await self._log.locate(scope, after)
        while True:
            position = self.position
            count = await self._log.count(scope, position)
            if position == self.position:  # unchanged, so no event falls between the two reads
                return position, count

    def wake(self) -> None:
        """Poll now: there may be new events."""
        self._wake_up.set()

    async def close(self) -> None:
        """Close all listeners; they can resume later."""
        for listener in self._all_listeners():
            listener.close("closing")
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    # --- calls of listeners -----------------------------------------------------------------------------------------

    async def page(self, scope: str | None, after: int) -> tuple[tuple[NumberedEvent, ...], bool]:
        """Return the next events after a position, and whether these are the last ones."""
        events = await self.feed.events(after, PAGE_SIZE, scope)
        return events, len(events) < PAGE_SIZE

    async def encode(self, events: Iterable[SequencedEvent]) -> tuple[EncodedEvent, ...]:
        return await self._encoder.encode(tuple(events))

    def join(self, listener: Listener) -> None:
        """Deliver whatever the shared reader reads from here on to this listener."""
        tasks = self._listeners.setdefault(listener.scope, {})
        tasks.setdefault(listener.event_filter.task_id, {}).setdefault(listener.event_filter, set()).add(listener)
        listener.set_live(self.position)

    def leave(self, listener: Listener) -> None:
        tasks = self._listeners.get(listener.scope, {})
        groups = tasks.get(listener.event_filter.task_id, {})
        members = groups.get(listener.event_filter, set())
        members.discard(listener)
        if not members:
            groups.pop(listener.event_filter, None)
        if not groups:
            tasks.pop(listener.event_filter.task_id, None)
        if not tasks:
            self._listeners.pop(listener.scope, None)

    # --- the shared reader ------------------------------------------------------------------------------------------

    async def _start_reader(self) -> None:
        async with self._start_lock:
            if self._reader is None or self._reader.done():
                self.position = await self.feed.last_event()
                self._reader = asyncio.ensure_future(self._read_loop())

    async def _read_loop(self) -> None:
        retry = StoreRetry("reading of events for streams", self._clock, max_backoff=MAX_BACKOFF_SECONDS)
        while self._count:
            self._wake_up.clear()
            try:
                is_end = await self._step()
                retry.succeeded()
            except StoreError as error:
                is_end = True
                await retry.wait(error)
            if is_end:
                await self._wait_for_events()

    async def _step(self) -> bool:
        """Deliver one page to all listeners; return whether it was the last one."""
        before = self.position
        events, is_end = await self.page(None, before)
        if events:
            # A listener that joins while bodies are encoded joins after this page.
            self.position = events[-1].number
            members = _copy_members(self._listeners)
            try:
                sequenced = await self._sequence.number(events, before, lambda event: _has_listener(event, members))
                encoded = await self._encoder.encode(sequenced)
            except StoreError:
                self.position = before  # read again; a listener that joined meanwhile skips events that it has
                raise
            _deliver(encoded, members)
        return is_end

    async def _wait_for_events(self) -> None:
        try:
            async with asyncio.timeout(self._poll_seconds):
                await self._wake_up.wait()
        except TimeoutError:
            pass

    def _all_listeners(self) -> list[Listener]:
        return [
            each
            for tasks in self._listeners.values()
            for groups in tasks.values()
            for members in groups.values()
            for each in members
        ]


def _copy_members(listeners: ListenerIndex) -> ListenerIndex:
    return {
        scope: {
            task: {event_filter: set(each) for event_filter, each in groups.items()} for task, groups in tasks.items()
        }
        for scope, tasks in listeners.items()
    }


def _has_listener(event: Event, members: ListenerIndex) -> bool:
    for scope in (event.owner, None):
        tasks = members.get(scope)
        if tasks is not None:
            for task in (None, event.task_id):
                if any(event_filter.matches(event) for event_filter in tasks.get(task, ())):
                    return True
    return False


def _deliver(events: tuple[EncodedEvent, ...], members: ListenerIndex) -> None:
    """Deliver each event to listeners of its owner, and to those of all owners."""
    by_key: dict[tuple[str | None, str | None], list[EncodedEvent]] = defaultdict(list)
    for each in events:
        for scope in (each.event.owner, None):
            for task in (None, each.event.task_id):
                by_key[scope, task].append(each)
    for (scope, task), candidates in by_key.items():
        for event_filter, listeners in members.get(scope, {}).get(task, {}).items():
            matching = tuple(each for each in candidates if event_filter.matches(each.event))
            if matching:
                batch = Batch(matching)
                for listener in listeners:
                    listener.offer(batch)
