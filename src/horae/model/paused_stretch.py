"""Record that links a skipped run row to the pause in which its occurrences fell, so that `explain` can name it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .record import Record, Writing
from .run import Run

PAUSED_STRETCH: Final = "paused_stretch"
"""Kind of the record; its key is the id of the run row."""
KEPT: Final = timedelta(days=90)


class PausedStretch(NamedTuple):
    since: datetime
    until: datetime


def pause_writing(row: Run, pause: PausedStretch) -> Writing:
    body = json.dumps({"since": pause.since.isoformat(), "until": pause.until.isoformat()})
    return Writing(Record(PAUSED_STRETCH, row.id, row.owner, body, expires=pause.until + KEPT))


def read_pause(record: Record) -> PausedStretch:
    body = json.loads(record.body)
    return PausedStretch(datetime.fromisoformat(body["since"]), datetime.fromisoformat(body["until"]))
