"""Those who listen over HTTP: the one reader of the log, and every moment a look at all streams and their tokens."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
from typing import Final

from ..clock import Clock
from ..errors import HoraeError, NotAuthenticated
from ..model.accounts.principal import Principal
from ..model.events.event import EventKind
from ..service.accounts.refusals import refuse
from ..service.events.event_tail import Listener, Tail, Wanted
from ..service.events.listeners import Audience
from ..service.service import Service

LOOK_SECONDS: Final = 0.4
"""With the half second for which a token is remembered, a stream ends within a second of its token."""
HEARTBEAT: Final = 15.0
STUCK: Final = 60.0
"""Seconds in which a reader has to take something; whoever takes nothing is let go."""
MOST_STREAMS: Final = 2_000
RETRY_SECONDS: Final = 5
REVOKED: Final = "revoked"
VIA: Final = "http"


class Stream:
    """One that is open. Whoever sends on it says so: timers of its own would cost more than all that it says."""

    def __init__(self, listener: Listener, who: Principal, now: float) -> None:
        self.listener = listener
        self.who = who
        self.is_stuck = False
        self.is_saying = False
        self.said_at = now
        self._task = asyncio.current_task()

    def look(self, now: float) -> None:
        quiet = now - self.said_at
        if not self.is_saying and quiet >= HEARTBEAT:
            self.listener.beat()
        elif self.is_saying and quiet >= STUCK and not self.is_stuck:
            self.is_stuck = True
            if self._task is not None:
                self._task.cancel()


def most_streams(limit: int | None = None) -> int:
    """How many streams one process serves: at most half of the files that it may open, so that other requests and health
    checks are still accepted."""
    files, _ = getrlimit(RLIMIT_NOFILE)
    wanted = MOST_STREAMS if limit is None else limit
    return wanted if files == RLIM_INFINITY else min(wanted, max(2, files // 2))


class StreamSeats:
    """Counts open streams: per process, and per owner. One owner has at most half of the process, whatever its quota."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def seat(self, who: Principal) -> Iterator[None]:
        quota = who.quotas.event_streams
        if self._open.total() >= self._most:
            raise refuse("streams_full", retry_after=RETRY_SECONDS)
        allowed = max(1, self._most // 2) if quota is None else min(quota, max(1, self._most // 2))
        if self._open[who.owner] >= allowed:
            raise refuse("too_many_streams", most=allowed, retry_after=RETRY_SECONDS)
        self._open[who.owner] += 1
        try:
            yield
        finally:
            self._open[who.owner] -= 1
            if not self._open[who.owner]:
                del self._open[who.owner]


class Hearing:
    """A token that is no longer valid, or that lets its bearer see something else, ends the streams that it opened."""

    def __init__(self, service: Service, clock: Clock, streams: int | None = None) -> None:
        self.tail = Tail(service.store, service.telling, clock, log=service.events.log)
        self.now = clock.steady()
        """As of the last look."""
        self._tokens = service.tokens
        self._announcer = service.presence.announcer()
        self._clock = clock
        self._open: dict[str, set[Stream]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._seats = StreamSeats(most_streams(streams))

    @property
    def listening(self) -> int:
        """How many streams are open."""
        return self.tail.listening

    @asynccontextmanager
    async def listen(self, who: Principal, token: str, wanted: Wanted, after: int | None) -> AsyncIterator[Stream]:
        with self._seats.seat(who):
            async with self._listening(who, token, wanted, after) as stream:
                yield stream

    @asynccontextmanager
    async def _listening(self, who: Principal, token: str, wanted: Wanted, after: int | None) -> AsyncIterator[Stream]:
        async with self.tail.listen(who, wanted, after) as listener:
            if self._looking is None or self._looking.done():
                self.now = self._clock.steady()
                self._looking = asyncio.ensure_future(self._look())
            stream = Stream(listener, who, self.now)
            group = self._open.setdefault(token, set())
            group.add(stream)
            audience = _audience(who, wanted)
            try:
                if audience is not None:
                    await self._announcer.join(audience)
                yield stream
            finally:
                if audience is not None:
                    await self._announcer.leave(audience)
                group.discard(stream)
                if not group:
                    self._open.pop(token, None)

    async def close(self) -> None:
        """Every stream ends."""
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        await self._announcer.close()
        await self.tail.close()

    async def _look(self) -> None:
        while self.tail.listening:
            await self._clock.pause(LOOK_SECONDS)
            self.now = self._clock.steady()
            for token, group in list(self._open.items()):
                for stream in list(group):
                    stream.look(self.now)
                await self._judge(token, group)

    async def _judge(self, token: str, group: set[Stream]) -> None:
        try:
            scope = (await self._tokens.authenticate(token, via=VIA)).scope
        except NotAuthenticated:
            for stream in group:
                stream.listener.end(REVOKED)
            return
        except HoraeError:
            return  # the store does not answer: nobody can say, and nothing new is told either
        for stream in group:
            if stream.who.scope != scope:
                stream.listener.end(REVOKED)


def _audience(who: Principal, wanted: Wanted) -> Audience | None:
    """None for a stream that leaves out the events of tasks that are due."""
    if wanted.kinds is not None and EventKind.TASK_TRIGGERED not in wanted.kinds:
        return None
    return Audience("stream", who.scope, wanted.task_id)
