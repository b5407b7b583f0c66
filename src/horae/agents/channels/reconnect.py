"""Reconnection loop of channels: repeats a session after growing delays, and reports each state to the listener."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from traceback import extract_tb
from typing import Final

from ...clock import Clock
from ...errors import Refusal
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
        asked: timedelta | None = None
        try:
            await run_session(report)
            continue
        except Refusal:
            raise
        except SessionEnded as ended:
            problem, asked = ended.problem, ended.after
        except ListenerFailed as failed:
            problem = str(failed)
        except Exception as error:  # noqa: BLE001 - see below
            # A defect, or a document that the adapter does not expect, must not end the channel. The text of the error is
            # left out: it may hold a secret.
            problem = f"unexpected {type(error).__name__}"
            LOG.warning("%s: %s at %s", service, problem, _place(error))
        delay = backoff(report.failures) if asked is None else asked.total_seconds()
        report.failed(problem, delay)
        await clock.pause(delay)


def _place(error: Exception) -> str:
    """Return the file and line that raised the error."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def backoff(failures: int) -> float:
    """Return the delay in seconds before the next attempt: doubled from one second up to one minute."""
    return float(min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** min(failures, 10)))
