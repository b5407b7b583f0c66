"""The function that every contender runs: it does nothing but record the call and its lateness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count

from horae.clock import SystemClock

_clock = SystemClock()


class Tally:
    """Calls until now. Threads may call it without a lock: each step is one that the interpreter does not divide."""

    def __init__(self) -> None:
        self.expect(0, bool)

    def expect(self, calls: int, finished: Callable[[], object]) -> None:
        """Begin anew: the last of so many calls calls `finished`."""
        self._calls = count(1)
        self._expected = calls
        self._finished = finished

    def called(self) -> None:
        if next(self._calls) == self._expected:
            self._finished()


class Watch(Tally):
    """The same, with the instants: due and started, in microseconds."""

    def expect(self, calls: int, finished: Callable[[], object]) -> None:
        super().expect(calls, finished)
        self.starts: list[tuple[int, int]] = []

    def called_for(self, due: int) -> None:
        self.starts.append((due, microseconds(_clock.now())))
        self.called()

    def lateness(self, since: datetime | None = None, until: datetime | None = None) -> list[float]:
        """Seconds, of what came due in a stretch of time, or of everything."""
        first = 0 if since is None else microseconds(since)
        last = None if until is None else microseconds(until)
        return [(started - due) / 1e6 for due, started in self.starts if due >= first and (last is None or due <= last)]


# One each for the process: the peers find a function by its name, and cannot be given an object with it.
tally = Tally()
watch = Watch()


def noop() -> None:
    tally.called()


async def async_noop() -> None:
    tally.called()


def timed(due: int) -> None:
    watch.called_for(due)


async def async_timed(due: int) -> None:
    watch.called_for(due)


def microseconds(instant: datetime) -> int:
    return round(instant.timestamp() * 1e6)


def now() -> datetime:
    return _clock.now()


def at_rate(rate: float, seconds: float, lead: float) -> Sequence[datetime]:
    """Instants on a grid, the first of them so far ahead that everything can be prepared in time."""
    first = _clock.now() + timedelta(seconds=lead)
    return [first + timedelta(seconds=number / rate) for number in range(max(round(rate * seconds), 1))]


async def pass_time(seconds: float) -> None:
    """For where nothing is to happen, so that there is nothing to wait for but the time."""
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, over.set)
    await over.wait()
