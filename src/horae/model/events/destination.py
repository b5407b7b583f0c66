"""Destination of messages to people: name, service, quiet hours, and its notices as bodies of deliveries; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ...choices import Language
from ...schedule.zones import find_zone
from ..ids import from_microseconds, to_microseconds
from ..policy import DESTINATION_CHARACTERS
from ..record import Record
from ..refusals import refuse

MAX_DESTINATIONS: Final = 100
"""Most destinations of one owner; its quota may be lower."""
DESTINATION_KIND: Final = "destination"
NOTICE_CHARACTERS: Final = 1_000
"""Longest result or error in a message."""
GATHER_TIME: Final = timedelta(seconds=5)
"""Time in which notices gather before the first of them is sent: what fails together is one message."""
MESSAGE_INTERVAL: Final = timedelta(seconds=60)
"""Shortest time between two messages to a destination; notices that come meanwhile are one digest."""
_NAME: Final = re.compile(rf"[A-Za-z0-9_.-]{{1,{DESTINATION_CHARACTERS}}}")
_QUIET: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])\s*[-–]\s*([01]?[0-9]|2[0-3]):([0-5][0-9])")
_MICROSECONDS: Final = 1_000_000
_DAY: Final = 24 * 3600


class QuietHours(NamedTuple):
    """Daily hours in which notices are held, in seconds of the local day; `end` before `start` is on the next day."""

    start: int
    end: int

    @property
    def text(self) -> str:
        return f"{_clock_text(self.start)}-{_clock_text(self.end)}"

    def until(self, now: datetime, zone: str) -> datetime | None:
        """Return the instant at which the quiet hours around `now` end; None outside of them."""
        known = find_zone(zone)
        instant = to_microseconds(now) // _MICROSECONDS
        local = instant + known.offset(instant)
        second = local % _DAY
        is_over_midnight = self.end <= self.start
        is_quiet = second >= self.start or second < self.end if is_over_midnight else self.start <= second < self.end
        if not is_quiet:
            return None
        end = local - second + self.end + (_DAY if is_over_midnight and second >= self.start else 0)
        # In a gap of the clock no instant shows the end: it then follows the offset of now.
        found = [each for each in known.instants(end) if each > instant] or [
            max(end - known.offset(instant), instant + 1)
        ]
        return from_microseconds(found[0] * _MICROSECONDS)


def parse_quiet_hours(text: object) -> QuietHours:
    """Parse `22:00-07:00`."""
    match = _QUIET.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise refuse("bad_quiet_hours")
    hours = [int(each) for each in match.groups()]
    quiet = QuietHours(hours[0] * 3600 + hours[1] * 60, hours[2] * 3600 + hours[3] * 60)
    if quiet.start == quiet.end:
        raise refuse("bad_quiet_hours")
    return quiet


def _clock_text(second: int) -> str:
    return f"{second // 3600:02}:{second % 3600 // 60:02}"


class Destination(NamedTuple):
    """`schema` and `service` say where messages go; the URL itself is a secret and is stored apart.

    `since` is the position in the event log after which notices begin. `reminders`: tasks that only say something send
    it here, if they name no destination of their own.
    """

    id: str
    owner: str
    name: str
    schema: str
    service: str
    created: datetime
    since: int
    zone: str = "UTC"
    quiet: QuietHours | None = None
    reminders: bool = False
    language: Language = "en"
    failing_since: datetime | None = None
    blocked: tuple[str, ...] = ()
    """Networks of its address that the delivering node does not allow; or the missing key."""
    last_at: datetime | None = None
    """Instant of the last attempt to send a message; `last_answer` is its result."""
    last_ok: bool | None = None
    last_answer: str = ""
    last_notice_at: datetime | None = None
    """Instant of the last message other than a reminder, which the next one keeps its distance from."""
    version: int = 1

    def due(self, occasion: Occasion, now: datetime) -> datetime:
        """Return when a new notice is to be sent: a reminder at once, others gathered, and after the quiet hours."""
        if occasion in IMMEDIATE_OCCASIONS:
            return now
        return self.ready_at(now + GATHER_TIME)

    def ready_at(self, at: datetime) -> datetime:
        """Return the first instant from `at` on at which a message may go: not in quiet hours, not too close to the last."""
        if self.last_notice_at is not None:
            at = max(at, self.last_notice_at + MESSAGE_INTERVAL)
        held_until = None if self.quiet is None else self.quiet.until(at, self.zone)
        return held_until or at


class Occasion(StrEnum):
    """What a notice tells of."""

    FAILED = "failed"
    RECOVERED = "recovered"
    OVERDUE = "overdue"
    SUCCEEDED = "succeeded"
    REMINDER = "reminder"
    TEST = "test"


IMMEDIATE_OCCASIONS: Final = frozenset({Occasion.REMINDER, Occasion.TEST})
"""Sent at the instant that a person chose: neither gathered nor held by quiet hours."""


class Notice(NamedTuple):
    """One thing to tell; several that are due together become one digest."""

    occasion: Occasion
    task: str
    """Name of the task."""
    task_id: str
    run_id: str | None
    at: datetime
    text: str = ""


def is_destination_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def destination_key(owner: str, name: str) -> str:
    """Build the record key. Names have no slash, so the last slash separates owner and name."""
    return f"{owner}/{name}"


def destination_record(destination: Destination) -> Record:
    body = destination._asdict()
    for name in ("owner", "name", "version"):
        del body[name]
    plain = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in body.items()}
    key = destination_key(destination.owner, destination.name)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return Record(DESTINATION_KIND, key, destination.owner, text, destination.version)


def destination_from(record: Record) -> Destination:
    body: dict[str, Any] = json.loads(record.body)
    for name in ("created", "failing_since", "last_at", "last_notice_at"):
        body[name] = None if body[name] is None else datetime.fromisoformat(body[name])
    body["quiet"] = None if body["quiet"] is None else QuietHours(*body["quiet"])
    body["blocked"] = tuple(body["blocked"])
    return Destination(owner=record.owner, name=record.key.rpartition("/")[2], version=record.version, **body)


def notice_json(notice: Notice) -> str:
    body = notice._replace(at=notice.at.isoformat())._asdict()  # type: ignore[arg-type]  # the JSON of it
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def notice_from(text: str) -> Notice:
    body: Mapping[str, Any] = json.loads(text)
    return Notice(**{**body, "occasion": Occasion(body["occasion"]), "at": datetime.fromisoformat(body["at"])})
