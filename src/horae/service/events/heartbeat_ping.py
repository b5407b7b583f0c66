"""Heartbeat ping (dead man's switch): calls an external URL while an engine is alive and on time, else its `/fail`."""

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
from ...ports.full_store import FullStore
from ...ports.node_records import load_agreed_lease

TIMEOUT_SECONDS: Final = 10.0
MAX_LAG_SECONDS: Final = 5.0
_MAX_ANSWER_BYTES: Final = 1_024
LOG: Final = logging.getLogger("horae")


class PingSettings(Protocol):
    """Settings of the ping."""

    @property
    def url(self) -> str: ...
    @property
    def every(self) -> timedelta: ...
    @property
    def grace(self) -> timedelta: ...
    @property
    def allowed(self) -> Networks: ...


class Ping:
    """Sends pings. The URL may contain a secret: it is never logged."""

    def __init__(self, store: FullStore, clock: Clock, settings: PingSettings) -> None:
        self._store = store
        self._clock = clock
        self._grace = settings.grace
        self._success_url = check_url(settings.url, settings.allowed)
        self._report_url = _failure_url(self._success_url)
        self._client = Client(settings.allowed)

    async def step(self, lag: float = 0.0) -> Reply:
        """Send one ping; `lag` is by how many seconds it comes too late."""
        problem = await self.find_problem(lag)
        if problem is None:
            request = Request("GET", self._success_url, (), None, TIMEOUT_SECONDS, max_body_bytes=_MAX_ANSWER_BYTES)
        else:
            body, plain = problem.encode(), (("Content-Type", "text/plain; charset=utf-8"),)
            request = Request("POST", self._report_url, plain, body, TIMEOUT_SECONDS, max_body_bytes=_MAX_ANSWER_BYTES)
        return await self._client.send(request)

    async def find_problem(self, lag: float = 0.0) -> str | None:
        """Return why the deployment is not healthy, or None; contains no names and no ids."""
        if lag > MAX_LAG_SECONDS:
            return f"the process was held up for {lag:.0f} s"
        try:
            return await self._find_engine_problem()
        except StoreError:
            return "the store does not answer"

    async def close(self) -> None:
        await self._client.close()

    async def _find_engine_problem(self) -> str | None:
        now, lease = self._clock.now(), await load_agreed_lease(self._store)
        if not any(now - node.renewed <= lease for node in await self._store.nodes()):
            return "no engine is alive"
        for facts in await self._store.upcoming(None, 1):
            due = min(each.due for each in facts.entries if each.state in CLAIMABLE)
            if now - due > self._grace:
                return f"something has been due for {(now - due).total_seconds():.0f} s and has not started"
        return None


async def run_pings(store: FullStore, clock: Clock, settings: PingSettings) -> None:
    """Send pings until cancelled; an unreachable URL is tried again with the next ping."""
    ping = Ping(store, clock, settings)
    every, lag, was_reached = settings.every.total_seconds(), 0.0, True
    try:
        while True:
            reply = await ping.step(lag)
            if isinstance(reply, Unreachable) and was_reached:
                LOG.warning("the heartbeat URL cannot be reached, pings go on: %s", reply.kind.value)
            elif not isinstance(reply, Unreachable) and not was_reached:
                LOG.warning("the heartbeat URL can be reached again")
            was_reached = not isinstance(reply, Unreachable)
            before = clock.steady()
            await clock.pause(every)
            lag = clock.steady() - before - every
    finally:
        await ping.close()


def _failure_url(url: CheckedUrl) -> CheckedUrl:
    """Append `/fail` to the path, where monitoring services expect failure reports."""
    path, mark, query = url.target.partition("?")
    return url._replace(target=f"{path.rstrip('/')}/fail{mark}{query}")
