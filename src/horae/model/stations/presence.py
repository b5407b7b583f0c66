"""Presence record of a station at one node: workers, calls and last answers; a record that expires."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..record import Record

PRESENCE_KIND: Final = "station.presence"


class WorkerPresence(NamedTuple):
    name: str
    slots: int
    calls: int
    """Calls that the worker executes now."""
    answered: int
    joined: datetime
    seen: datetime
    last_status: str | None = None
    last_answer: datetime | None = None


class StationPresence(NamedTuple):
    owner: str
    station: str
    node: str
    workers: tuple[WorkerPresence, ...]
    waiting: int
    """Calls that wait for a free worker."""
    at: datetime


def presence_record(presence: StationPresence, expires: datetime, version: int = 1) -> Record:
    workers = [_plain(each._asdict()) for each in presence.workers]
    body = {"workers": workers, "waiting": presence.waiting, "at": presence.at.isoformat()}
    key = f"{presence.owner}/{presence.station}/{presence.node}"
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Record(PRESENCE_KIND, key, presence.owner, text, version, expires)


def presence_from(record: Record) -> StationPresence:
    body = json.loads(record.body)
    before, _, node = record.key.rpartition("/")
    return StationPresence(
        record.owner,
        before.rpartition("/")[2],
        node,
        tuple(_worker(each) for each in body["workers"]),
        body["waiting"],
        datetime.fromisoformat(body["at"]),
    )


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields.items()}


def _worker(fields: dict[str, Any]) -> WorkerPresence:
    for name in ("joined", "seen", "last_answer"):
        fields[name] = None if fields[name] is None else datetime.fromisoformat(fields[name])
    return WorkerPresence(**fields)
