"""Exponential back-off for background loops on store errors, with one log line when errors begin and one when they end."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from .clock import Clock
from .errors import HoraeError, StoreFull

TRANSIENT_ERRORS: Final = (HoraeError, OSError)
"""Errors of a store or of the network to it: the same call may succeed later. Any other error is a defect."""
INITIAL_BACKOFF: Final = 0.5
MAX_BACKOFF: Final = 5.0
FULL_STORE_LOG_INTERVAL: Final = 60.0
"""Seconds between two log lines about a store that is full."""
LOG_COOLDOWN: Final = 5.0
"""Seconds after a log line within which another episode is not logged: a connection that flaps must not fill the log."""
RESTART_DELAY: Final = 1.0
LOG: Final = logging.getLogger("horae")


class StoreRetry:
    """Back-off state of one loop; not thread-safe. `activity` names the loop's work as a singular noun ("claiming").

    An episode begins with the first error and ends with the next success. Its first error and its end are logged; a full
    store is logged once a minute, because it stays full until an operator frees space.
    """

    def __init__(
        self,
        activity: str,
        clock: Clock,
        *,
        initial: float = INITIAL_BACKOFF,
        max_backoff: float = MAX_BACKOFF,
        level: int = logging.WARNING,
    ) -> None:
        self._activity = activity
        self._clock = clock
        self._first = initial
        self._longest = max_backoff
        self._level = level
        self._pause = initial
        self._failing_since: float | None = None
        self._logged_at = float("-inf")
        self._is_announced = False

    @property
    def is_failing(self) -> bool:
        return self._failing_since is not None

    def failed(self, error: object) -> float:
        """Log the error unless a recent line covers it; return the seconds until the next attempt, doubled after each error."""
        now = self._clock.steady()
        if self._failing_since is None:
            self._failing_since, self._pause = now, self._first
            self._is_announced = False
        is_full = isinstance(error, StoreFull)
        is_quiet = now - self._logged_at < (FULL_STORE_LOG_INTERVAL if is_full else LOG_COOLDOWN)
        if not is_quiet and (is_full or not self._is_announced):
            self._log(error, now)
        seconds, self._pause = self._pause, min(2 * self._pause, self._longest)
        return seconds

    def succeeded(self) -> None:
        if self._failing_since is None:
            return
        seconds = self._clock.steady() - self._failing_since
        self._failing_since = None
        if self._is_announced:
            LOG.log(self._level, "%s goes on: the store answers again, after %.1f s", self._activity, seconds)

    async def wait(self, error: object) -> None:
        """Log the error unless a recent line covers it, and sleep until the next attempt."""
        await self._clock.pause(self.failed(error))

    def _log(self, error: object, now: float) -> None:
        self._is_announced, self._logged_at = True, now
        trace = error if isinstance(error, Exception) and not isinstance(error, TRANSIENT_ERRORS) else None
        LOG.log(
            self._level, "%s is paused and tried again: %s", self._activity, str(error) or repr(error), exc_info=trace
        )


async def restart_on_error(name: str, run: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Run a loop until it returns or is cancelled; restart it after an unexpected error.

    A loop keeps its state outside of itself, so a restart is safe. A loop that fails each time is logged once a minute.
    """
    logged_at = float("-inf")
    while True:
        try:
            await run()
        except Exception:
            if clock.steady() - logged_at >= FULL_STORE_LOG_INTERVAL:
                logged_at = clock.steady()
                LOG.exception("the %s failed unexpectedly, and begins again in %g s", name, RESTART_DELAY)
            await clock.pause(RESTART_DELAY)
        else:
            return


async def repeat_with_backoff(step: Callable[[], Awaitable[float]], retry: StoreRetry, clock: Clock) -> None:
    """Call `step` until cancelled; sleep as many seconds as it returns, or the back-off of `retry` after an error.

    A defect (an error that is not the store's) is logged with its traceback and retried like any other.
    """
    while True:
        try:
            seconds = await step()
        except Exception as error:  # noqa: BLE001 - a background loop survives everything but its cancellation
            seconds = retry.failed(error)
        else:
            retry.succeeded()
        await clock.pause(seconds)
