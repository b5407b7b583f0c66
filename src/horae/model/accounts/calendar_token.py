"""Calendar token: reads the calendar feed of its owner and nothing else; a value and a stored record, with its hash."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Final, NamedTuple

from ..record import Record

CALENDAR_TOKEN_KIND: Final = "calendar_token"  # noqa: S105 - the kind of a record
CALENDAR_TOKEN_PREFIX: Final = "cal_"  # noqa: S105 - how the ids begin


class CalendarToken(NamedTuple):
    id: str
    owner: str
    name: str
    hash: str
    created: datetime
    version: int = 1


def calendar_token_record(token: CalendarToken) -> Record:
    body = {"name": token.name, "hash": token.hash, "created": token.created.isoformat()}
    return Record(CALENDAR_TOKEN_KIND, token.id, token.owner, json.dumps(body, ensure_ascii=False))


def calendar_token_from(record: Record) -> CalendarToken:
    body = json.loads(record.body)
    created = datetime.fromisoformat(body["created"])
    return CalendarToken(record.key, record.owner, body["name"], body["hash"], created, record.version)
