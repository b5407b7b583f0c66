"""Record that links a skipped run row to the pause in which its occurrences fell, so that `explain` can name it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .record import Record, RecordWrite
from .run import Run

PAUSED_SPAN_KIND: Final = "paused_stretch"
"""Kind of the record; its key is the id of the run row."""
PAUSED_SPAN_RETENTION: Final = timedelta(days=90)


class PausedSpan(NamedTuple):
    since: datetime
    until: datetime


def paused_span_write(row: Run, pause: PausedSpan) -> RecordWrite:
    body = json.dumps({"since": pause.since.isoformat(), "until": pause.until.isoformat()})
    return RecordWrite(Record(PAUSED_SPAN_KIND, row.id, row.owner, body, expires=pause.until + PAUSED_SPAN_RETENTION))


def parse_paused_span(record: Record) -> PausedSpan:
    body = json.loads(record.body)
    return PausedSpan(datetime.fromisoformat(body["since"]), datetime.fromisoformat(body["until"]))
