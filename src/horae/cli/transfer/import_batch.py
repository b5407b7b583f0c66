"""What a file brings in: tasks, what was unclear, runs from before, lanes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ...interchange import ImportResult, PastRun
from ...model.run import Origin


class OldRun(NamedTuple):
    """A run from before, of the task with this key; `owner` tells whose, where several have the same."""

    key: str
    past: PastRun
    planned: datetime
    attempt: int = 1
    origin: Origin = Origin.SCHEDULED
    owner: str | None = None
    source: str = ""
    """Where it stands in its file."""

    @property
    def over_by(self) -> datetime | None:
        """When it ended; None when no calendar reaches that far."""
        try:
            return self.past.started + (self.past.duration or timedelta(0))
        except OverflowError:
            return None


class Incoming(NamedTuple):
    harvest: ImportResult
    runs: tuple[OldRun, ...] = ()
    lanes: tuple[tuple[str, int], ...] = ()
    over: int = 0
    exact: bool = False
    """Our own file: what is refused in it is a mistake, and stops the rest."""
