"""Open event streams: one reader of the log for all, and a periodic check of heartbeats, stuck clients and revoked
credentials."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
from typing import Final, NamedTuple

from ..clock import Clock
from ..errors import HoraeError, NotAuthenticated
from ..model.accounts.principal import Principal
from ..model.events.event import EventKind
from ..service.accounts.refusals import refuse
from ..service.events.event_tail import EventFilter, EventTail, Listener
from ..service.events.listeners import ListenerKind
from ..service.service import Service
from .authentication import VIA

CHECK_SECONDS: Final = 0.4
"""Interval of the check. With the half second for which a token is cached, a stream ends within a second of its token.
"""
HEARTBEAT_SECONDS: Final = 15.0
STUCK_SECONDS: Final = 60.0
"""Seconds in which a client has to accept data; otherwise its stream is ended."""
MAX_STREAMS: Final = 2_000
RETRY_SECONDS: Final = 5
REVOKED: Final = "revoked"
RECONNECT: Final = "reconnect"
"""End of a stream at its age limit: the client resumes where it was."""


class Credential(NamedTuple):
    """The token, or the cookie of the session, that opened a stream."""

    text: str
    is_session: bool = False


class Stream:
    """One open stream. The sender records its activity here: a timer per stream would cost more than its traffic."""

    def __init__(self, listener: Listener, principal: Principal, now: float) -> None:
        self.listener = listener
        self.principal = principal
        self.is_stuck = False
        self.is_sending = False
        self.sent_at = now
        self._opened = now
        self._task = asyncio.current_task()

    def check(self, now: float, max_seconds: float | None = None) -> None:
        """Queue a heartbeat for a quiet stream; cancel a stream whose client accepts nothing; end one that is too old."""
        if max_seconds is not None and now - self._opened >= max_seconds:
            self.listener.close(RECONNECT)
        quiet = now - self.sent_at
        if not self.is_sending and quiet >= HEARTBEAT_SECONDS:
            self.listener.request_keep_alive()
        elif self.is_sending and quiet >= STUCK_SECONDS and not self.is_stuck:
            self.is_stuck = True
            if self._task is not None:
                self._task.cancel()


def stream_limit(limit: int | None = None) -> int:
    """Return how many streams one process serves: at most half of its open-file limit, so that other requests and
    health checks are still accepted."""
    files, _ = getrlimit(RLIMIT_NOFILE)
    maximum = MAX_STREAMS if limit is None else limit
    return maximum if files == RLIM_INFINITY else min(maximum, max(2, files // 2))


class StreamLimits:
    """Counts open streams per process and per owner. One owner has at most half of the process, whatever its quota."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: Counter[str] = Counter()

    @contextmanager
    def reserve(self, principal: Principal) -> Iterator[None]:
        """Count one stream while the context is open. Raises `streams_full` or `too_many_streams`."""
        quota = principal.quotas.event_streams
        if self._open.total() >= self._limit:
            raise refuse("streams_full", retry_after=RETRY_SECONDS)
        allowed = max(1, self._limit // 2) if quota is None else min(quota, max(1, self._limit // 2))
        if self._open[principal.owner] >= allowed:
            raise refuse("too_many_streams", most=allowed, retry_after=RETRY_SECONDS)
        self._open[principal.owner] += 1
        try:
            yield
        finally:
            self._open[principal.owner] -= 1
            if not self._open[principal.owner]:
                del self._open[principal.owner]


class EventStreams:
    """Event streams of this process. A credential that is revoked, or that grants another view, ends the streams it opened.

    `max_seconds` limits the age of a stream, for servers that wait for open responses when they stop.
    """

    def __init__(
        self, service: Service, clock: Clock, streams: int | None = None, max_seconds: float | None = None
    ) -> None:
        self.tail = EventTail(service.store, service.event_encoder, clock, log=service.events.log)
        self.now = clock.steady()
        """Steady time of the last check."""
        self._tokens = service.tokens
        self._sessions = service.sessions
        self._log_watch = service.runs.log_watch
        self._announcer = service.listeners.announcer()
        self._clock = clock
        self._open: dict[Credential, set[Stream]] = {}
        self._checker: asyncio.Task[None] | None = None
        self._max_seconds = max_seconds
        self._limits = StreamLimits(stream_limit(streams))

    @property
    def listening(self) -> int:
        """Return the number of open streams."""
        return self.tail.listener_count

    @asynccontextmanager
    async def listen(
        self,
        principal: Principal,
        credential: Credential,
        event_filter: EventFilter,
        after: int | None,
        log_of: str | None = None,
    ) -> AsyncIterator[Stream]:
        """Open a stream; `log_of` is a run, visible to the principal, whose new log lines it announces."""
        with self._limits.reserve(principal):
            async with self._register(principal, credential, event_filter, after) as stream:
                watch = self._log_watch
                with nullcontext() if log_of is None else watch.follow(log_of, stream.listener.announce_log):
                    yield stream

    @asynccontextmanager
    async def _register(
        self, principal: Principal, credential: Credential, event_filter: EventFilter, after: int | None
    ) -> AsyncIterator[Stream]:
        async with self.tail.listen(principal, event_filter, after) as listener:
            if self._checker is None or self._checker.done():
                self.now = self._clock.steady()
                self._checker = asyncio.ensure_future(self._check_all())
            stream = Stream(listener, principal, self.now)
            group = self._open.setdefault(credential, set())
            group.add(stream)
            audience = _audience(principal, event_filter)
            try:
                if audience is not None:
                    await self._announcer.join(audience)
                yield stream
            finally:
                if audience is not None:
                    await self._announcer.leave(audience)
                group.discard(stream)
                if not group:
                    self._open.pop(credential, None)

    async def close(self) -> None:
        """End every stream."""
        checker, self._checker = self._checker, None
        if checker is not None:
            checker.cancel()
            await asyncio.gather(checker, return_exceptions=True)
        self._log_watch.end_waits()
        await self._announcer.close()
        await self.tail.close()

    async def _check_all(self) -> None:
        while self.tail.listener_count:
            await self._clock.pause(CHECK_SECONDS)
            self.now = self._clock.steady()
            for credential, group in list(self._open.items()):
                for stream in list(group):
                    stream.check(self.now, self._max_seconds)
                await self._check_credential(credential, group)

    async def _authenticate(self, credential: Credential) -> Principal:
        if credential.is_session:
            return await self._sessions.authenticate(credential.text)
        return await self._tokens.authenticate(credential.text, via=VIA)

    async def _check_credential(self, credential: Credential, group: set[Stream]) -> None:
        """End the streams of a credential that is revoked or has changed its view."""
        try:
            caller = await self._authenticate(credential)
        except NotAuthenticated:
            for stream in group:
                stream.listener.close(REVOKED)
            return
        except HoraeError:
            return  # the store is unavailable: the credential cannot be checked, and no new events are read either
        scopes = {caller.owner_filter, caller.as_system_reader().owner_filter}
        for stream in group:
            if stream.principal.owner_filter not in scopes:
                stream.listener.close(REVOKED)


def _audience(principal: Principal, event_filter: EventFilter) -> ListenerKind | None:
    """Return the audience that a stream announces; None for a stream without events of due tasks."""
    if event_filter.kinds is not None and EventKind.TASK_TRIGGERED not in event_filter.kinds:
        return None
    return ListenerKind("stream", principal.owner_filter, event_filter.task_id)
