"""Messages that a run has handled: records of the cursors that it moved, kept with the commit that moved them.

One record is found by the run, the other one by the position of the cursor, so that either page leads to the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from .ids import to_microseconds
from .messages import Cursor
from .record import Record, RecordWrite

HANDLED_KIND: Final = "messages.handled"
"""Kind of the records of a run; their keys begin with its id."""
CURSOR_KIND: Final = "messages.cursor"
"""Kind of the records of the positions of a cursor; the body is the id of the run."""
HANDLED_RETENTION: Final = timedelta(days=30)
_DIGEST_CHARACTERS: Final = 32


class Handled(NamedTuple):
    """Messages `first` to `last` of a stream, over which a run has moved the cursor of a reader."""

    stream: str
    reader: str
    first: int
    last: int


def handled_writes(owner: str, run_id: str, handled: Handled, at: datetime) -> tuple[RecordWrite, ...]:
    """Return the writes for one moved cursor. A cursor only moves forward, so no two moves have the same keys."""
    expires = at + HANDLED_RETENTION
    body = json.dumps(handled, ensure_ascii=False, separators=(",", ":"))
    position = cursor_key(owner, handled.stream, Cursor(handled.reader, handled.last, at))
    return (
        RecordWrite(Record(HANDLED_KIND, f"{run_key(run_id)}{position}", owner, body, expires=expires)),
        RecordWrite(Record(CURSOR_KIND, position, owner, json.dumps(run_id), expires=expires)),
    )


def run_key(run_id: str) -> str:
    """Return what the keys of the records of a run begin with."""
    return f"{run_id}/"


def cursor_key(owner: str, stream: str, cursor: Cursor) -> str:
    """Return the key of a cursor at one position. The instant tells it from one of a reader that was removed."""
    name = sha256(json.dumps((owner, stream, cursor.reader)).encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{name}/{to_microseconds(cursor.moved):020}/{cursor.number:016}"


def read_handled(records: Iterable[Record]) -> tuple[Handled, ...]:
    """Return what a run has handled, by stream and reader; commits that follow one another without a hole are one."""
    merged: list[Handled] = []
    for each in sorted(Handled(*json.loads(record.body)) for record in records):
        before = merged[-1] if merged else None
        if before is not None and before[:2] == each[:2] and before.last + 1 == each.first:
            merged[-1] = before._replace(last=each.last)
        else:
            merged.append(each)
    return tuple(merged)
