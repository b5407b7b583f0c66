"""JSON codecs of stored values, with bounded caches: most tasks share a few values, so each is parsed and encoded once."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from ...json_encoder import COMPACT, make_encoder
from ...model.ids import EPOCH, to_microseconds
from ...model.origin import ChainPlace, RootOccurrence
from ...model.policy import Policies
from ...model.policy import from_json as policies_from_json
from ...model.policy import to_json as policies_to_json
from ...model.task import Target
from ...schedule import Once, Schedule
from ...schedule import from_json as schedule_from_json
from ...schedule import to_json as schedule_to_json

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")

_MAX_CACHED: Final = 4_096
_ONCE_PREFIX: Final = '{"kind":"once","at":"'
_ONCE_SUFFIX: Final = 'Z"}'
_ONCE_QUOTE_COUNT: Final = 8
_read_modifiers: Final = attrgetter("zone", "start", "end", "repeat", "counting", "jitter", "gap", "fold")
_NO_MODIFIERS: Final = (None, None, None, None, "run", None, None, None)


def _make_decode() -> Callable[[str], Any]:
    decoder: Any = json.JSONDecoder()
    scan = decoder.scan_once

    def decode(text: str) -> Any:
        # Stored values have no space around them: `JSONDecoder.decode` would look for it twice.
        try:
            value, end = scan(text, 0)
        except StopIteration:
            return decoder.decode(text)
        # With anything after the value it raises.
        return value if end == len(text) else decoder.decode(text)

    return decode


encode: Final = make_encoder(COMPACT)
"""Encodes a value as short JSON text."""
decode: Final = _make_decode()


class ComputedCache(dict[_K, _V], Generic[_K, _V]):
    """A dict that computes missing values; it is cleared when it reaches its maximum size."""

    def __init__(self, compute: Callable[[_K], _V]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: _K) -> _V:
        if len(self) >= _MAX_CACHED:
            self.clear()
        value = self._compute(key)
        self[key] = value
        return value


class IdentityCache(Generic[_V]):
    """Cache of encoded texts keyed by object identity: many tasks share one object, and equality would be slower."""

    def __init__(self, write: Callable[[_V], str]) -> None:
        self._write = write
        self._texts: dict[int, tuple[_V, str]] = {}

    def __call__(self, value: _V) -> str:
        entry = self._texts.get(id(value))
        if entry is not None and entry[0] is value:
            return entry[1]
        if len(self._texts) >= _MAX_CACHED:
            self._texts.clear()
        text = self._write(value)
        # The reference to the value keeps its id from being reused for another object.
        self._texts[id(value)] = (value, text)
        return text


def _parse_lanes(text: str) -> tuple[str, ...]:
    return tuple(decode(text))


def _parse_labels(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in decode(text))


def _parse_schedule(text: str) -> Schedule:
    # Hot path for `once` without modifiers: its text differs for nearly every task, so the cache does not help.
    if text.startswith(_ONCE_PREFIX) and text.endswith(_ONCE_SUFFIX) and text.count('"') == _ONCE_QUOTE_COUNT:
        return Once(datetime.fromisoformat(text[len(_ONCE_PREFIX) : 1 - len(_ONCE_SUFFIX)]))
    return schedule_from_json(decode(text))


def _encode_schedule(schedule: Schedule) -> str:
    if schedule.__class__ is Once and schedule.at.tzinfo is UTC and _read_modifiers(schedule) == _NO_MODIFIERS:
        return f"{_ONCE_PREFIX}{schedule.at.replace(tzinfo=None).isoformat()}{_ONCE_SUFFIX}"
    return encode(schedule_to_json(schedule))


def _parse_policies(text: str) -> Policies:
    return policies_from_json(decode(text))


def encode_chain_place(place: ChainPlace) -> str:
    return encode([None if place.root is None else place.root.key, place.parents, int(place.fires)])


def _parse_chain_place(text: str) -> ChainPlace:
    root, parents, fires = decode(text)
    return ChainPlace(None if root is None else RootOccurrence.from_key(root), tuple(parents), bool(fires))


def _to_datetime(number: int) -> datetime:
    return EPOCH + timedelta(0, 0, number)


instant_of: Final[ComputedCache[int, datetime]] = ComputedCache(_to_datetime)
microseconds_of: Final[ComputedCache[datetime, int]] = ComputedCache(to_microseconds)
"""For instants that many rows share, such as the one of a claim. For others, such as the end of a run, `to_microseconds` is
much faster: a missing value costs as much as twenty conversions."""
schedules: Final[ComputedCache[str, Schedule]] = ComputedCache(_parse_schedule)
policies: Final[ComputedCache[str, Policies]] = ComputedCache(_parse_policies)
targets: Final[ComputedCache[tuple[str, str], Target]] = ComputedCache(lambda parts: Target(*parts))
labels: Final[ComputedCache[str, tuple[tuple[str, str], ...]]] = ComputedCache(_parse_labels)
chain_places: Final[ComputedCache[str, ChainPlace]] = ComputedCache(_parse_chain_place)
lanes: Final[ComputedCache[str, tuple[str, ...]]] = ComputedCache(_parse_lanes)

schedule_text: Final[IdentityCache[Schedule]] = IdentityCache(_encode_schedule)
policies_text: Final[IdentityCache[Policies]] = IdentityCache(lambda value: encode(policies_to_json(value)))


def replace_lone_surrogates(text: str | None) -> str | None:
    """Replace lone surrogates in a target's text: SQL drivers refuse them, and the whole settlement would fail."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
