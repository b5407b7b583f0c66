"""What was due, by plain arithmetic: it shares nothing with the code that it judges."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Series(NamedTuple):
    """From an instant on, every so often, so many times."""

    first: datetime
    every: timedelta = timedelta(seconds=1)
    times: int = 1

    @property
    def instants(self) -> tuple[datetime, ...]:
        return tuple(self.first + self.every * number for number in range(self.times))

    def due_from(self, created: datetime) -> tuple[datetime, ...]:
        """What is asked for too late: once is due at its creation, a series begins with the first instant since then."""
        if self.times == 1:
            return (max(self.first, created),)
        return tuple(instant for instant in self.instants if instant >= created)

    @property
    def last(self) -> datetime:
        return self.first + self.every * (self.times - 1)

    @property
    def when(self) -> dict[str, Any]:
        """The same as a schedule, in canonical JSON."""
        if self.times == 1:
            return {"kind": "once", "at": self.first.isoformat(), "zone": "UTC"}
        return {
            "kind": "every",
            "interval": f"PT{self.every.total_seconds()}S",
            "start": self.first.isoformat(),
            "end": self.last.isoformat(),
            "zone": "UTC",
        }


class Due(NamedTuple):
    """A task and the instants at which it was due. `must_run`: being recorded with a reason is not enough."""

    task: str
    instants: tuple[datetime, ...]
    at_most_once: bool = False
    must_run: bool = False
