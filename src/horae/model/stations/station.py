"""Station: a name of an owner, its kind, the public keys that may join under it, and the causes of refused messages."""

from __future__ import annotations

import json
import re
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from ..record import Record

STATION_KIND: Final = "station"
STATION_KEY_KIND: Final = "station.key"
"""Record for each key, which says whose it is: a handshake reads this one record, and no key has two stations."""
MAX_STATIONS: Final = 200
MAX_KEYS: Final = 64
NAME_CHARACTERS: Final = 63
_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_CHARACTERS - 1}}}")
_KEY: Final = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
"""Forty characters of Z85: 32 bytes."""


class StationKind(StrEnum):
    API = "api"
    """One worker executes a call and answers it."""
    VOTE = "vote"
    """Every voter gets the call, and each of them answers once."""
    PUB = "pub"
    """Every worker gets the call, and none answers."""
    PUBLISHER = "publisher"
    """Publishes and manages plans, and executes nothing."""


class StationKey(NamedTuple):
    key: str
    worker: str | None = None
    """The only worker that may join with this key; None: any name. A voter has a key of its own."""


class Station(NamedTuple):
    owner: str
    name: str
    kind: StationKind
    keys: tuple[StationKey, ...]
    created: datetime
    version: int = 1

    @property
    def voters(self) -> tuple[str, ...]:
        """Participants of a vote, in the order of their names."""
        return tuple(sorted({each.worker for each in self.keys if each.worker is not None}))

    def worker_of(self, key: str) -> StationKey | None:
        return next((each for each in self.keys if each.key == key), None)


class KeyOwner(NamedTuple):
    """Station that a key belongs to."""

    owner: str
    name: str


def is_station_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_station_key(key: object) -> bool:
    return isinstance(key, str) and _KEY.fullmatch(key) is not None


def station_key(owner: str, name: str) -> str:
    """Build the record key. Names have no slash, so the last slash separates owner and name."""
    return f"{owner}/{name}"


def station_record(station: Station) -> Record:
    body = {
        "kind": station.kind.value,
        "keys": [[each.key, each.worker] for each in station.keys],
        "created": station.created.isoformat(),
    }
    key = station_key(station.owner, station.name)
    return Record(STATION_KIND, key, station.owner, json.dumps(body, separators=(",", ":")), station.version)


def station_from(record: Record) -> Station:
    body = json.loads(record.body)
    return Station(
        record.owner,
        record.key.rpartition("/")[2],
        StationKind(body["kind"]),
        tuple(StationKey(*each) for each in body["keys"]),
        datetime.fromisoformat(body["created"]),
        record.version,
    )


def key_record(station: Station, key: str) -> Record:
    return Record(STATION_KEY_KIND, key, station.owner, json.dumps({"station": station.name}))


def key_owner_from(record: Record) -> KeyOwner:
    return KeyOwner(record.owner, json.loads(record.body)["station"])


class Cause(StrEnum):
    """Each refusal is counted under its cause."""

    WRONG_KEY = "wrong_key"
    MALFORMED = "malformed"
    NOT_JOINED = "not_joined"
    BAD_JOIN = "bad_join"
    UNKNOWN_CALL = "unknown_call"
    ENDED_CALL = "ended_call"
    FOREIGN_CALL = "foreign_call"
    FORGED_CALLER = "forged_caller"
    SECOND_VOTE = "second_vote"
    BAD_REQUEST = "bad_request"
    NOT_ALLOWED = "not_allowed"
    OVERLOAD = "overload"
    FOREIGN_TOPIC = "foreign_topic"
