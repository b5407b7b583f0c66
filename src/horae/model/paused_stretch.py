"""Records of skipped rows that a resumed pause left: which pause their occurrences fell into."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .record import Record, Writing
from .run import Run

PAUSED_STRETCH: Final = "paused_stretch"
"""The kind of record; its key is the id of the row."""
KEPT: Final = timedelta(days=90)


class PausedStretch(NamedTuple):
    since: datetime
    until: datetime


def pause_writing(row: Run, pause: PausedStretch) -> Writing:
    body = json.dumps({"since": pause.since.isoformat(), "until": pause.until.isoformat()})
    return Writing(Record(PAUSED_STRETCH, row.id, row.owner, body, expires=pause.until + KEPT))


def read_pause(record: Record) -> PausedStretch:
    said = json.loads(record.body)
    return PausedStretch(datetime.fromisoformat(said["since"]), datetime.fromisoformat(said["until"]))
