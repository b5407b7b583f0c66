"""Values that are kept as JSON text. Most tasks share a few of them, so each text is read once and each value written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from ...model.ids import EPOCH, microseconds
from ...model.policy import Policies
from ...model.policy import from_json as policies_from_json
from ...model.policy import to_json as policies_to_json
from ...model.task import Target
from ...schedule import Once, Schedule
from ...schedule import from_json as schedule_from_json
from ...schedule import to_json as schedule_to_json

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")

_MOST: Final = 4_096
_ONCE_BEGINS: Final = '{"kind":"once","at":"'
_ONCE_ENDS: Final = 'Z"}'
_ONCE_QUOTES: Final = 8
_modifiers: Final = attrgetter("zone", "start", "end", "repeat", "counting", "jitter", "gap", "fold")
_NO_MODIFIERS: Final = (None, None, None, None, "run", None, None, None)
encode: Final[Callable[[Any], str]] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Built once: `json.dumps` with separators would build an encoder for every call."""
decode: Final[Callable[[str], Any]] = json.JSONDecoder().decode


class Remembered(dict[_K, _V], Generic[_K, _V]):
    """A mapping that works out what it does not know, and starts afresh before it grows too large."""

    def __init__(self, work_out: Callable[[_K], _V]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, key: _K) -> _V:
        if len(self) >= _MOST:
            self.clear()
        value = self._work_out(key)
        self[key] = value
        return value


class Written(Generic[_V]):
    """The text of values that many tasks share as one and the same object; equal ones need not be compared."""

    def __init__(self, write: Callable[[_V], str]) -> None:
        self._write = write
        self._known: dict[int, tuple[_V, str]] = {}

    def __call__(self, value: _V) -> str:
        known = self._known.get(id(value))
        if known is not None and known[0] is value:
            return known[1]
        if len(self._known) >= _MOST:
            self._known.clear()
        text = self._write(value)
        # Holding the value keeps its id from being given to another one.
        self._known[id(value)] = (value, text)
        return text


def _lanes(text: str) -> tuple[str, ...]:
    return tuple(decode(text))


def _labels(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in decode(text))


def _schedule(text: str) -> Schedule:
    # One instant and nothing else: the one kind that is different for nearly every task.
    if text.startswith(_ONCE_BEGINS) and text.endswith(_ONCE_ENDS) and text.count('"') == _ONCE_QUOTES:
        return Once(datetime.fromisoformat(text[len(_ONCE_BEGINS) : 1 - len(_ONCE_ENDS)]))
    return schedule_from_json(decode(text))


def _schedule_text(schedule: Schedule) -> str:
    if schedule.__class__ is Once and schedule.at.tzinfo is UTC and _modifiers(schedule) == _NO_MODIFIERS:
        return f"{_ONCE_BEGINS}{schedule.at.replace(tzinfo=None).isoformat()}{_ONCE_ENDS}"
    return encode(schedule_to_json(schedule))


def _policies(text: str) -> Policies:
    return policies_from_json(decode(text))


def _instant(number: int) -> datetime:
    return EPOCH + timedelta(0, 0, number)


instants: Final[Remembered[int, datetime]] = Remembered(_instant)
numbers: Final[Remembered[datetime, int]] = Remembered(microseconds)
"""Worth it for instants that many rows share, such as the one of a claim; others are faster worked out."""
schedules: Final[Remembered[str, Schedule]] = Remembered(_schedule)
policies: Final[Remembered[str, Policies]] = Remembered(_policies)
targets: Final[Remembered[tuple[str, str], Target]] = Remembered(lambda parts: Target(*parts))
labels: Final[Remembered[str, tuple[tuple[str, str], ...]]] = Remembered(_labels)
lanes: Final[Remembered[str, tuple[str, ...]]] = Remembered(_lanes)

schedule_text: Final[Written[Schedule]] = Written(_schedule_text)
policies_text: Final[Written[Policies]] = Written(lambda chosen: encode(policies_to_json(chosen)))


def printable(text: str | None) -> str | None:
    """What a target said, as something that can be stored: half a character would make the whole settlement fail."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
