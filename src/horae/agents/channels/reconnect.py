"""Reconnection loop of channels: repeats a session after growing delays, and reports each state to the listener."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from ...clock import Clock
from ...ports.channel import ChannelListener, ConnectionState
from .intake import ListenerFailed

LOG: Final = logging.getLogger("horae.channels")
_FIRST_DELAY: Final = 1.0
_LONGEST_DELAY: Final = 60.0


class SessionEnded(Exception):  # noqa: N818 - an event of a connection, not a defect
    """The session cannot go on, and a later one may. `after`: the service has asked for this delay."""

    def __init__(self, problem: str, after: timedelta | None = None) -> None:
        self.problem = problem
        self.after = after
        super().__init__(problem)


class ConnectionReport:
    """State of the connection, as the sessions report it."""

    def __init__(self, listener: ChannelListener, service: str) -> None:
        self._listener = listener
        self._service = service
        self._is_connected = False
        self.failures = 0

    def connected(self) -> None:
        self.failures = 0
        if not self._is_connected:
            self._is_connected = True
            self._listener.on_state(ConnectionState(is_connected=True))

    def failed(self, problem: str, delay: float) -> None:
        self._is_connected = False
        self.failures += 1
        LOG.warning("%s: %s; next attempt in %g s", self._service, problem, delay)
        self._listener.on_state(ConnectionState(is_connected=False, problem=problem, retry_in=timedelta(seconds=delay)))


async def keep_connected(
    run_session: Callable[[ConnectionReport], Awaitable[None]], listener: ChannelListener, clock: Clock, service: str
) -> None:
    """Run sessions until cancelled, or until one raises a refusal. A session that returns is followed by the next at once."""
    report = ConnectionReport(listener, service)
    while True:
        try:
            await run_session(report)
        except SessionEnded as ended:
            delay = backoff(report.failures) if ended.after is None else ended.after.total_seconds()
            report.failed(ended.problem, delay)
            await clock.pause(delay)
        except ListenerFailed as failed:
            delay = backoff(report.failures)
            report.failed(str(failed), delay)
            await clock.pause(delay)


def backoff(failures: int) -> float:
    """Return the delay in seconds before the next attempt: doubled from one second up to one minute."""
    return float(min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(failures, 10)))
