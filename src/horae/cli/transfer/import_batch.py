"""Content of an import file: tasks with rejected items, past runs, and lanes."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ...interchange import ImportResult, PastRun
from ...model.inputs.run_input import RunInput
from ...model.lanes.lane import LaneSetting
from ...model.run import Origin
from .import_groups import GroupRequest


class ImportedRun(NamedTuple):
    """A past run of the task with this key; `owner` distinguishes tasks with the same key."""

    key: str
    past: PastRun
    planned: datetime
    attempt: int = 1
    origin: Origin = Origin.SCHEDULED
    owner: str | None = None
    source: str = ""
    """Position in its file."""
    input: RunInput | None = None

    @property
    def ended(self) -> datetime | None:
        """Return when it ended; None if that is beyond the largest datetime."""
        try:
            return self.past.started + (self.past.duration or timedelta(0))
        except OverflowError:
            return None


class ImportBatch(NamedTuple):
    """`finished` counts exported tasks that have ended, which are not imported."""

    result: ImportResult
    runs: tuple[ImportedRun, ...] = ()
    lanes: tuple[tuple[str, LaneSetting], ...] = ()
    groups: tuple[GroupRequest, ...] = ()
    finished: int = 0
    directory: Path | None = None
    """Directory of the installation, whose files are copied; None where only a file was named."""
    is_own_export: bool = False
    """Whether Horae has exported the file: then a refused task refuses the whole import."""
