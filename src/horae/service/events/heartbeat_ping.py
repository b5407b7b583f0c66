"""The heartbeat: an address outside is asked again and again while the engine is alive and on time, and told when it is not."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final, Protocol

from ...clock import Clock
from ...errors import StoreError
from ...model.entry import CLAIMABLE
from ...outgoing.addresses import Networks
from ...outgoing.client import Client
from ...outgoing.exchange import Reply, Request, Unreachable
from ...outgoing.guard import CheckedUrl, check_url
from ...ports.lease_terms import agreed_lease
from ...ports.records import Records
from ...ports.store import Book

WITHIN: Final = 10.0
LAG_SECONDS: Final = 5.0
_ANSWER_BYTES: Final = 1_024
LOG: Final = logging.getLogger("horae")


class Keeping(Book, Records, Protocol):
    """What is asked of the store."""


class Pulse(Protocol):
    """How the heartbeat was set up."""

    @property
    def url(self) -> str: ...
    @property
    def every(self) -> timedelta: ...
    @property
    def grace(self) -> timedelta: ...
    @property
    def allowed(self) -> Networks: ...


class Ping:
    """The address may be a secret in itself: it is never logged."""

    def __init__(self, store: Keeping, clock: Clock, pulse: Pulse) -> None:
        self._store = store
        self._clock = clock
        self._grace = pulse.grace
        self._alive = check_url(pulse.url, pulse.allowed)
        self._failed = _failing(self._alive)
        self._client = Client(pulse.allowed)

    async def step(self, lag: float = 0.0) -> Reply:
        """One beat; `lag` is by how many seconds it comes too late."""
        trouble = await self.trouble(lag)
        if trouble is None:
            request = Request("GET", self._alive, (), None, WITHIN, most=_ANSWER_BYTES)
        else:
            body, plain = trouble.encode(), (("Content-Type", "text/plain; charset=utf-8"),)
            request = Request("POST", self._failed, plain, body, WITHIN, most=_ANSWER_BYTES)
        return await self._client.send(request)

    async def trouble(self, lag: float = 0.0) -> str | None:
        """Why nobody outside should believe that all is well; no names, no ids."""
        if lag > LAG_SECONDS:
            return f"the process was held up for {lag:.0f} s"
        try:
            return await self._engine_trouble()
        except StoreError:
            return "the store does not answer"

    async def close(self) -> None:
        await self._client.close()

    async def _engine_trouble(self) -> str | None:
        now, lease = self._clock.now(), await agreed_lease(self._store)
        if not any(now - node.renewed <= lease for node in await self._store.nodes()):
            return "no engine is alive"
        for facts in await self._store.upcoming(None, 1):
            due = min(each.due for each in facts.entries if each.stand in CLAIMABLE)
            if now - due > self._grace:
                return f"something has been due for {(now - due).total_seconds():.0f} s and has not started"
        return None


async def watch_ping(store: Keeping, clock: Clock, pulse: Pulse) -> None:
    """On and on; an address that does not answer is tried again with the next beat."""
    ping = Ping(store, clock, pulse)
    every, lag, was_heard = pulse.every.total_seconds(), 0.0, True
    try:
        while True:
            reply = await ping.step(lag)
            if isinstance(reply, Unreachable) and was_heard:
                LOG.warning("the heartbeat was not heard, and goes on: %s", reply.kind.value)
            elif not isinstance(reply, Unreachable) and not was_heard:
                LOG.warning("the heartbeat is heard again")
            was_heard = not isinstance(reply, Unreachable)
            before = clock.steady()
            await clock.pause(every)
            lag = clock.steady() - before - every
    finally:
        await ping.close()


def _failing(url: CheckedUrl) -> CheckedUrl:
    """The same place with `/fail` behind its path, where those who watch over programs expect bad news."""
    path, mark, query = url.target.partition("?")
    return url._replace(target=f"{path.rstrip('/')}/fail{mark}{query}")
