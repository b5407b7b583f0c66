"""Texts with several schedules: `every weekday at 9am and Sat at 11am`, `工作日9点以及周六11点`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from ...errors import InvalidSchedule
from ..any_of import MAX_SCHEDULES, UNION_MODIFIERS, make_any_of
from ..every import Every
from ..once import Now, Once
from ..refusals import refuse
from ..rrule import RRule
from ..value import Schedule

PartMode = Literal["first", "after_once", "after_recurring", "elided"]
"""How a part of a list is read: after a recurring one, the word for `every` may be left out."""
MAX_SEPARATORS: Final = 24
"""In a stretch without semicolons: each pair of them encloses a part that is tried."""
_WORDS: Final = r"(?:and|plus)\b(?:\s+(?:also|then)\b)?|as\s+well\s+as\b|&|以及|还有|外加|和|及|与"
_SEMICOLON: Final = re.compile(rf"\s*;(?!\s*[A-Z-]+=)\s*(?:{_WORDS})?\s*", re.IGNORECASE)
_SEPARATOR: Final = re.compile(rf"\s*[,、]?\s*(?<![A-Za-z])(?:{_WORDS})\s*|\s*[,、]\s*", re.IGNORECASE)
_ELIDED: Final = frozenset({"once_or_weekly", "once_or_monthly"})
"""Refusals of a part without `every`."""


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A parsed schedule; `relative` if the same words mean another schedule at another time.

    `named_zone` is true if the text itself names the zone, false if a default was used.
    """

    schedule: Schedule
    relative: bool = False
    named_zone: bool = False
    notes: tuple[str, ...] = ()


class Modifiers(NamedTuple):
    """Modifiers after the last schedule of a list, in words of their own."""

    values: dict[str, Any]
    relative: bool = False
    named_zone: bool = False


class ListGrammar(NamedTuple):
    """The readers of parts: `read_part` of one schedule, `read_modifiers` of modifiers alone (None for other text)."""

    read_part: Callable[[str, str | None, datetime, PartMode], ParsedText]
    read_modifiers: Callable[[str, str | None, datetime], Modifiers | None]


class _Part(NamedTuple):
    reading: ParsedText
    place: int


def read_list(text: str, zone: str | None, now: datetime, grammar: ListGrammar) -> ParsedText | None:
    """Parse the text as several schedules; None if it is no list. Raises the refusal of the part that is wrong."""
    pieces = list(_split(text))
    if len(pieces) == 1 and not _has_separator(text):
        return None
    return _ListReader(text, zone, now, grammar).read(pieces)


def _split(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _SEMICOLON.finditer(text):
        yield begin, match.start()
        begin = match.end()
    yield begin, len(text)


def _has_separator(text: str) -> bool:
    return any(_is_strong(match) for match in _SEPARATOR.finditer(text))


def _is_strong(separator: re.Match[str]) -> bool:
    """Whether it is a word for `and`: commas alone make no list."""
    return separator.group().strip() not in (",", "、")


class _ListReader:
    def __init__(self, text: str, zone: str | None, now: datetime, grammar: ListGrammar) -> None:
        self._text = text
        self._zone = zone
        self._now = now
        self._grammar = grammar
        self._known: dict[tuple[int, int, PartMode], ParsedText | InvalidSchedule] = {}

    def read(self, pieces: list[tuple[int, int]]) -> ParsedText | None:
        ending = self._read_ending(*pieces[-1]) if len(pieces) > 1 else None
        parts: list[_Part] = []
        for begin, end in pieces if ending is None else pieces[:-1]:
            found = self._read_piece(begin, end, _mode_after(parts))
            if found is None:
                return None
            parts += found
        if ending is None:
            ending, parts[-1] = _take_modifiers(parts[-1])
        zone = ending.values.get("zone") if ending.named_zone else self._zone
        if zone != self._zone:
            # The zone at the end is that of every schedule that names none.
            return _ListReader(self._text, zone, self._now, self._grammar).read(pieces)
        return self._combine(parts, ending)

    def _combine(self, parts: list[_Part], ending: Modifiers) -> ParsedText:
        for part in parts:
            _check_part(part)
        if len(parts) > MAX_SCHEDULES:
            raise refuse("list_too_long", parts[MAX_SCHEDULES].place, most=MAX_SCHEDULES)
        modifiers = {name: value for name, value in ending.values.items() if name != "zone"}
        readings = [part.reading for part in parts]
        return ParsedText(
            make_any_of([each.schedule for each in readings], zone=self._zone, **modifiers),
            ending.relative or any(each.relative for each in readings),
            ending.named_zone or all(each.named_zone for each in readings),
            tuple(dict.fromkeys(note for each in readings for note in each.notes)),
        )

    def _read_ending(self, begin: int, end: int) -> Modifiers | None:
        segment = self._segment(begin, end)
        return self._grammar.read_modifiers(segment, self._zone, self._now) if segment.strip() else Modifiers({})

    # --- parts -------------------------------------------------------------------------------------------------------

    def _read_piece(self, begin: int, end: int, mode: PartMode) -> list[_Part] | None:
        whole = self._try(begin, end, mode)
        if isinstance(whole, ParsedText):
            return [_Part(whole, begin)]
        separators = [each for each in _SEPARATOR.finditer(self._text, begin, end) if begin < each.start()]
        if len(separators) > MAX_SEPARATORS:
            # Many commas are those of a long list of days or times within a schedule.
            separators = list(filter(_is_strong, separators))
        if len(separators) <= MAX_SEPARATORS and any(map(_is_strong, separators)):
            return _Pieces(self, begin, end, separators).read(mode)
        if begin == 0:
            return None
        raise whole

    def try_part(self, begin: int, end: int, mode: PartMode) -> ParsedText | InvalidSchedule:
        key = (begin, end, mode)
        if key not in self._known:
            self._known[key] = self._try(begin, end, mode)
        return self._known[key]

    def _try(self, begin: int, end: int, mode: PartMode) -> ParsedText | InvalidSchedule:
        segment = self._segment(begin, end)
        if not segment.strip():
            return refuse("empty", begin)
        try:
            return self._read_part(segment, mode)
        except InvalidSchedule as refusal:
            return refusal if refusal.position is not None else refusal.located(self._text)
        except OverflowError:
            return refuse("out_of_calendar", begin)

    def _read_part(self, segment: str, mode: PartMode) -> ParsedText:
        try:
            return self._grammar.read_part(segment, self._zone, self._now, mode)
        except InvalidSchedule as refusal:
            if mode != "after_recurring" or refusal.code not in _ELIDED:
                raise
        return self._grammar.read_part(segment, self._zone, self._now, "elided")

    def _segment(self, begin: int, end: int) -> str:
        """The part of the text, with its positions."""
        return " " * begin + self._text[begin:end]


class _Pieces:
    """The stretches between the separators of a text; neighbours are joined to as few parts as possible.

    So `every day at 9am and 5pm and Sat at 11am` is two parts: what belongs together today stays together.
    """

    def __init__(self, reader: _ListReader, begin: int, end: int, separators: list[re.Match[str]]) -> None:
        self._reader = reader
        self._separators = separators
        self._begins = [begin, *(each.end() for each in separators)]
        self._ends = [*(each.start() for each in separators), end]
        self._last = len(separators)
        self._fits: dict[tuple[int, PartMode], list[_Part] | None] = {}

    def read(self, mode: PartMode) -> list[_Part] | None:
        found = self._fit(0, mode)
        if found is None:
            refusal = self._find_refusal(mode)
            if refusal is not None:
                raise refusal
        return found

    def _fit(self, first: int, mode: PartMode) -> list[_Part] | None:
        """The fewest parts that cover everything from a stretch on; the first one is as long as possible."""
        if (first, mode) not in self._fits:
            self._fits[first, mode] = self._find_fit(first, mode)
        return self._fits[first, mode]

    def _find_fit(self, first: int, mode: PartMode) -> list[_Part] | None:
        best: list[_Part] | None = None
        for last in range(self._last, first - 1, -1):
            reading = self._reader.try_part(self._begins[first], self._ends[last], mode)
            if isinstance(reading, InvalidSchedule):
                continue
            part = _Part(reading, self._begins[first])
            if last == self._last:
                return [part]
            rest = self._fit(last + 1, _next_mode(reading.schedule, mode))
            is_list = rest is not None and (len(rest) > 1 or _is_strong(self._separators[last]))
            if rest is not None and is_list and (best is None or len(rest) + 1 < len(best)):
                best = [part, *rest]
        return best

    def _find_refusal(self, mode: PartMode) -> InvalidSchedule | None:
        """The refusal of the first part that cannot be read; None if not even the beginning is a schedule."""
        first = 0
        while True:
            ends = (last for last in range(self._last - 1, first - 1, -1) if _is_strong(self._separators[last]))
            for last in ends:
                reading = self._reader.try_part(self._begins[first], self._ends[last], mode)
                if isinstance(reading, ParsedText):
                    first, mode = last + 1, _next_mode(reading.schedule, mode)
                    break
            else:
                refusal = self._reader.try_part(self._begins[first], self._ends[self._last], mode)
                return refusal if first and isinstance(refusal, InvalidSchedule) else None


def _mode_after(parts: list[_Part]) -> PartMode:
    mode: PartMode = "first"
    for part in parts:
        mode = _next_mode(part.reading.schedule, mode)
    return mode


def _next_mode(schedule: Schedule, mode: PartMode) -> PartMode:
    is_recurring = mode == "after_recurring" or not isinstance(schedule, Now | Once)
    return "after_recurring" if is_recurring else "after_once"


def _take_modifiers(last: _Part) -> tuple[Modifiers, _Part]:
    """The modifiers that follow the last schedule belong to the list."""
    schedule = last.reading.schedule
    values = {name: value for name in UNION_MODIFIERS if (value := getattr(schedule, name)) is not None}
    if last.reading.named_zone:
        values["zone"] = schedule.zone
    values |= {
        name: value
        for name in ("gap", "fold")
        if (value := getattr(schedule, name)) is not None and not (name == "gap" and isinstance(schedule, RRule))
    }
    cleared: dict[str, Any] = {name: "run" if name == "counting" else None for name in UNION_MODIFIERS}
    bare = replace(schedule, **cleared)
    reading = replace(last.reading, schedule=bare)
    return Modifiers(values, named_zone=last.reading.named_zone), last._replace(reading=reading)


def _check_part(part: _Part) -> None:
    schedule = part.reading.schedule
    for modifier in UNION_MODIFIERS:
        if getattr(schedule, modifier) not in (None, "run"):
            raise refuse("list_modifier", part.place, key=modifier)
    if isinstance(schedule, Every) and schedule.since == "end":
        raise refuse("list_from_end", part.place)
