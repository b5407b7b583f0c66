"""What a file brings in: tasks, what was unclear, runs from before, lanes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from ...interchange import ImportResult, PastRun
from ...model.run import Origin


class ImportedRun(NamedTuple):
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
    def ended(self) -> datetime | None:
        """When it ended; None when no calendar reaches that far."""
        try:
            return self.past.started + (self.past.duration or timedelta(0))
        except OverflowError:
            return None


class ImportBatch(NamedTuple):
    result: ImportResult
    runs: tuple[ImportedRun, ...] = ()
    lanes: tuple[tuple[str, int], ...] = ()
    finished: int = 0
    is_own_export: bool = False
    """Our own file: what is refused in it is a mistake, and stops the rest."""
