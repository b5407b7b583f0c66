"""One reader of the event log for any number of listeners: each hears what is theirs, in order, and holds nobody up.

A listener that comes with a number reads the durable log from there, page by page, and is handed over to the one reader
when it has caught up; nothing is lost and nothing comes twice. Who cannot take all at once goes back to the log, and who
reads too slowly is cut off, and can resume.
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
from ...model.events.event import Event, EventKind, Numbered, Sequenced
from ...ports.store import Feed
from ...store_retry import StoreRetry
from ..accounts.rights import refuse_agent
from ..query.argument_checks import check_position
from .event_bodies import Telling, Told
from .owner_sequence import OwnerEvents, OwnerSequence

LOOK_EVERY: Final = 0.05
"""Seconds between two looks while somebody listens: other processes write events, too."""
LONGEST_PAUSE: Final = 2.0
PAGE: Final = 500
LARGEST_BACKLOG: Final = 256 * 1024
"""Bytes that wait for one listener; who has more waiting reads from the log instead."""
MOST_BEHIND: Final = 10_000
"""Who has gone back to the log and is so many events behind is cut off."""


class Wanted(NamedTuple):
    """Which events somebody wants to hear of; None: of all kinds, of all tasks."""

    kinds: frozenset[EventKind] | None = None
    task_id: str | None = None

    def takes(self, event: Event) -> bool:
        if self.kinds is not None and event.kind not in self.kinds:
            return False
        return self.task_id is None or event.task_id == self.task_id


EVERYTHING: Final = Wanted()


class Batch:
    """Some events, shared by all who hear them; what one of them made of it is there for the others."""

    __slots__ = ("_rendered", "events", "size")

    def __init__(self, events: tuple[Told, ...]) -> None:
        self.events = events
        self.size = sum(len(each.body) for each in events)
        self._rendered: dict[Callable[[Iterable[Told]], bytes], bytes] = {}

    def rendered(self, render: Callable[[Iterable[Told]], bytes]) -> bytes:
        found = self._rendered.get(render)
        if found is None:
            found = self._rendered[render] = render(self.events)
        return found


class CutOff(Exception):  # noqa: N818 - it says what happened
    """This listener hears nothing more. `cursor` is where it can resume."""

    def __init__(self, why: str, cursor: int) -> None:
        self.why = why
        self.cursor = cursor
        super().__init__(f"{why} after {cursor}")


class Listener:
    """One who listens. `next` answers with what is new; with None when somebody wants a sign of life to be given."""

    def __init__(self, tail: Tail, scope: str | None, wanted: Wanted, position: int, cursor: int) -> None:
        self.scope = scope
        self.wanted = wanted
        self.position = position
        """The position in the log of the last event that it was given, or that was of no interest to it."""
        self.cursor = cursor
        """Where it can resume, as its scope counts: of an owner the number of the last event that it was given."""
        self._tail = tail
        self._sequence = OwnerSequence(tail.feed)
        if scope is not None:
            self._sequence.start(scope, position, cursor)
        self._live_after: int | None = None
        """Where it joined the one reader; what lies before that is read from the log."""
        self._has_fallen_back = False
        self._is_to_beat = False
        self._waiting: deque[Batch] = deque()
        self._size = 0
        self._bell = asyncio.Event()
        self._over: str | None = None
        self._is_idle = False
        self.sink: Callable[[Batch], bool] | None = None
        """Takes a batch at once, without anybody being woken; False where it has to wait. Only asked when nothing waits."""

    async def next(self) -> Batch | None:
        while self._over is None:
            if self._live_after is None or self.position < self._live_after:
                batch = await self._from_the_log()
            elif self._waiting:
                batch = self._taken()
            elif self._is_to_beat:
                self._is_to_beat = False
                return None
            else:
                self._bell.clear()
                self._is_idle = True
                try:
                    await self._bell.wait()
                finally:
                    self._is_idle = False
                continue
            if batch.events:
                return batch
        raise CutOff(self._over, self.cursor)

    def give(self, batch: Batch) -> None:
        """Never waits: who has too much waiting already reads from the log, at their own pace."""
        if self._over is not None or self._live_after is None:
            return
        if self._is_idle and not self._waiting and self._taken_at_once(batch):
            return
        if self._waiting and self._size + batch.size > LARGEST_BACKLOG:
            self._fall_back()
            return
        self._waiting.append(batch)
        self._size += batch.size
        self._bell.set()

    def _taken_at_once(self, batch: Batch) -> bool:
        """The ordinary case: who has heard all that came before is told this right here."""
        if self.sink is None or self.position < (self._live_after or 0) or batch.events[0].position <= self.position:
            return False
        if not self.sink(batch):
            return False
        self._advance(batch.events[-1])
        return True

    def _advance(self, last: Told) -> None:
        self.position, self.cursor = last.position, last.cursor(self.scope)

    def end(self, why: str) -> None:
        """It hears nothing more, from now on."""
        self._over = self._over or why
        self._waiting.clear()
        self._bell.set()

    def beat(self) -> None:
        """Nothing was said for long: whoever waits for the next is told to give a sign of life."""
        self._is_to_beat = True
        self._bell.set()

    def joined(self, at: int) -> None:
        self._live_after = at
        self._has_fallen_back = False

    def _fall_back(self) -> None:
        self._tail.leave(self)
        self._live_after = None
        self._has_fallen_back = True
        self._waiting.clear()
        self._size = 0
        self._bell.set()

    def _taken(self) -> Batch:
        batch = self._waiting.popleft()
        self._size -= batch.size
        if batch.events[0].position <= self.position:
            # It read the log further than the reader had when it joined.
            batch = Batch(tuple(each for each in batch.events if each.position > self.position))
        if batch.events:
            self._advance(batch.events[-1])
        return batch

    async def _from_the_log(self) -> Batch:
        """One page; at the end of the log it joins those who hear of what comes next."""
        if self._has_fallen_back and self._tail.position - self.position > MOST_BEHIND:
            self.end("too slow")
            return Batch(())
        until = self._live_after
        events, is_end = await self._tail.page(self.scope, self.position)
        mine = events if until is None else tuple(each for each in events if each.number <= until)
        told = await self._tail.told(await self._sequence.number(mine, self.position, self.wanted.takes))
        if told:
            self._advance(told[-1])
        if until is not None and (is_end or len(mine) < len(events)):
            self.position = until
        elif mine:
            self.position = mine[-1].number
        if self.scope is None:
            self.cursor = self.position
        if is_end and until is None:
            self._tail.join(self)
        return Batch(told)


Members: TypeAlias = dict[str | None, dict[str | None, dict[Wanted, set[Listener]]]]
"""By whose events they may hear, then by the task that they want to hear of (None: of all), so that an event is offered to
those alone whom it may concern."""


class Tail:
    """`telling` makes bodies of events. The reader goes while somebody listens, and not a moment longer."""

    def __init__(
        self, feed: Feed, telling: Telling, clock: Clock, look_every: float = LOOK_EVERY, log: OwnerEvents | None = None
    ) -> None:
        self.feed = feed
        self._log = log or OwnerEvents(feed)
        self._sequence = OwnerSequence(feed)
        self._telling = telling
        self._clock = clock
        self._look_every = look_every
        self.position = 0
        """How far the one reader has read."""
        self._listeners: Members = {}
        self._count = 0
        self._reader: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()
        self._bell = asyncio.Event()

    @property
    def listening(self) -> int:
        """How many listen now."""
        return self._count

    @asynccontextmanager
    async def listen(
        self, who: Principal, wanted: Wanted = EVERYTHING, after: int | None = None
    ) -> AsyncIterator[Listener]:
        """From that cursor on, as the scope of this principal counts; without one, from what happens next on."""
        refuse_agent(who, "events")
        who.must(Scope.READ)
        if after is not None:
            check_position("after", after)
        self._count += 1
        listener: Listener | None = None
        try:
            await self._begin()
            position, cursor = await self._begin_at(who.scope, after)
            listener = Listener(self, who.scope, wanted, position, cursor)
            if after is None:
                self.join(listener)
            yield listener
        finally:
            self._count -= 1
            if listener is not None:
                self.leave(listener)

    async def _begin_at(self, scope: str | None, after: int | None) -> tuple[int, int]:
        """The position in the log and the cursor of a new listener."""
        if scope is None:
            begin = self.position if after is None else after
            return begin, begin
        if after is not None:
            return await self._log.locate(scope, after)
        while True:
            position = self.position
            count = await self._log.count(scope, position)
            if position == self.position:  # the one reader has not read on meanwhile: nothing falls between
                return position, count

    def ring(self) -> None:
        """Something may have happened."""
        self._bell.set()

    async def close(self) -> None:
        """Everybody's stream ends; who comes again can resume."""
        for listener in self._all():
            listener.end("closing")
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    # --- what a listener asks for ----------------------------------------------------------------------------------

    async def page(self, scope: str | None, after: int) -> tuple[tuple[Numbered, ...], bool]:
        """The next events after a number, and whether that was all there is."""
        events = await self.feed.events(after, PAGE, scope)
        return events, len(events) < PAGE

    async def told(self, events: Iterable[Sequenced]) -> tuple[Told, ...]:
        return await self._telling.told(tuple(events))

    def join(self, listener: Listener) -> None:
        """From here on it is given whatever the one reader reads."""
        tasks = self._listeners.setdefault(listener.scope, {})
        tasks.setdefault(listener.wanted.task_id, {}).setdefault(listener.wanted, set()).add(listener)
        listener.joined(self.position)

    def leave(self, listener: Listener) -> None:
        tasks = self._listeners.get(listener.scope, {})
        groups = tasks.get(listener.wanted.task_id, {})
        members = groups.get(listener.wanted, set())
        members.discard(listener)
        if not members:
            groups.pop(listener.wanted, None)
        if not groups:
            tasks.pop(listener.wanted.task_id, None)
        if not tasks:
            self._listeners.pop(listener.scope, None)

    # --- the one reader --------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        async with self._beginning:
            if self._reader is None or self._reader.done():
                self.position = await self.feed.last_event()
                self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        retry = StoreRetry("reading of events for streams", self._clock, longest=LONGEST_PAUSE)
        while self._count:
            self._bell.clear()
            try:
                is_end = await self._step()
                retry.succeeded()
            except StoreError as error:
                is_end = True
                await retry.wait(error)
            if is_end:
                await self._until_something_may_have_happened()

    async def _step(self) -> bool:
        """One page to all who listen; whether that was all."""
        before = self.position
        events, is_end = await self.page(None, before)
        if events:
            # A listener that joins from here on, while bodies are made, joins after these.
            self.position = events[-1].number
            members = _copied(self._listeners)
            try:
                wanted = await self._sequence.number(events, before, lambda event: _is_wanted(event, members))
                told = await self._telling.told(wanted)
            except StoreError:
                self.position = before  # read again; a listener that joined meanwhile leaves out what it has
                raise
            _hand_out(told, members)
        return is_end

    async def _until_something_may_have_happened(self) -> None:
        try:
            async with asyncio.timeout(self._look_every):
                await self._bell.wait()
        except TimeoutError:
            pass

    def _all(self) -> list[Listener]:
        return [
            each
            for tasks in self._listeners.values()
            for groups in tasks.values()
            for members in groups.values()
            for each in members
        ]


def _copied(listeners: Members) -> Members:
    return {
        scope: {task: {wanted: set(each) for wanted, each in groups.items()} for task, groups in tasks.items()}
        for scope, tasks in listeners.items()
    }


def _is_wanted(event: Event, members: Members) -> bool:
    for scope in (event.owner, None):
        tasks = members.get(scope)
        if tasks is not None:
            for task in (None, event.task_id):
                if any(wanted.takes(event) for wanted in tasks.get(task, ())):
                    return True
    return False


def _hand_out(told: tuple[Told, ...], members: Members) -> None:
    """Owners are told apart here: what is one's own goes to its owner, and to those who see everything."""
    offered: dict[tuple[str | None, str | None], list[Told]] = defaultdict(list)
    for each in told:
        for scope in (each.event.owner, None):
            for task in (None, each.event.task_id):
                offered[scope, task].append(each)
    for (scope, task), events in offered.items():
        for wanted, listeners in members.get(scope, {}).get(task, {}).items():
            picked = tuple(each for each in events if wanted.takes(each.event))
            if picked:
                batch = Batch(picked)
                for listener in listeners:
                    listener.give(batch)
