"""Oracle of due instants by plain arithmetic, independent of the code under test."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Series(NamedTuple):
    """`times` instants from `first` on, `every` apart."""

    first: datetime
    every: timedelta = timedelta(seconds=1)
    times: int = 1

    @property
    def instants(self) -> tuple[datetime, ...]:
        return tuple(self.first + self.every * number for number in range(self.times))

    def due_from(self, created: datetime) -> tuple[datetime, ...]:
        """Return the due instants: a single past instant is due at `created`, a series drops past ones."""
        if self.times == 1:
            return (max(self.first, created),)
        return tuple(instant for instant in self.instants if instant >= created)

    @property
    def last(self) -> datetime:
        return self.first + self.every * (self.times - 1)

    @property
    def when(self) -> dict[str, Any]:
        """The same series as a schedule in canonical JSON."""
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
    """A task and its due instants. `must_run`: a skipped row with a reason is not enough."""

    task: str
    instants: tuple[datetime, ...]
    at_most_once: bool = False
    must_run: bool = False
