"""Parser for Chinese durations and times of day."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import Final

from ..refusals import refuse
from ..warnings import early_hour_note
from .chinese_cursor import Cursor, any_word
from .chinese_words import DAY_PARTS, ENGLISH_UNITS, EXACT_DAYS, NUMBER, SECONDS
from .clock_words import (
    DayPart,
    fits_day_part,
    make_time,
    resolve_bare_hour,
    resolve_day_part_hour,
    resolve_twelve_hour,
)

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?")
_SPOKEN: Final = re.compile(
    rf"({NUMBER})\s*[点时](?!间)(?:钟|整)?"
    rf"(?:(半)|(一刻)|(三刻)|\s*({NUMBER})(?!\s*[次天周月年个])\s*分?(?!钟)(?:\s*({NUMBER})\s*秒)?)?"
)
_HALF: Final = re.compile(r"(\d{1,2})(?::(\d\d))?\s*(am|pm)(?![A-Za-z])", re.IGNORECASE)
_BARE_HOUR: Final = re.compile(r"\d{1,2}(?=\s*(?:$|[,、]))")
_PART: Final = re.compile(rf"{any_word(DAY_PARTS)}|[早晚](?=\s*{NUMBER}\s*[点:])")
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)(?!\d)|Z(?![A-Za-z])")
_UNITS: Final = SECONDS | EXACT_DAYS | ENGLISH_UNITS
_DURATION: Final = re.compile(
    rf"(?:({NUMBER})(?:\.(\d+))?\s*(?:个(半)?)?|(半)个?)\s*({any_word(_UNITS)})(半)?", re.IGNORECASE
)
_MILLISECOND: Final = timedelta(milliseconds=1)
_EARLY_HOURS: Final = range(1, 7)
_AFTERNOON: Final = ("afternoon", "evening", "night")


class Times(Cursor):
    """Remembers a part of the day given before the time: 今晚, 每晚, or the previous item of a list."""

    _part: DayPart | None = None

    def __init__(self, text: str, offset: int = 0) -> None:
        super().__init__(text, offset)
        self._early_hours: dict[int, str] = {}

    # --- lengths -------------------------------------------------------------------------------------------------

    def duration(self) -> timedelta | None:
        """90秒, 一个半小时, 两小时30分钟, 半小时, 250毫秒."""
        total: timedelta | None = None
        while (match := self.match(_DURATION)) is not None:
            part = self._duration_part(match)
            total = part if total is None else total + part
        if total is not None and (total % _MILLISECOND or not total):
            raise refuse("sub_millisecond", self.place, value=total)
        return total

    def _duration_part(self, match: re.Match[str]) -> timedelta:
        number, fraction, middle_half, leading_half, unit, trailing_half = match.groups()
        millionths = 0 if leading_half else self.number(number) * 1_000_000
        if (fraction or "")[6:].strip("0"):
            raise refuse("sub_millisecond", self.place, value=match.group())
        millionths += int((fraction or "")[:6].ljust(6, "0"))
        if middle_half or leading_half or trailing_half:
            millionths += 500_000
        microseconds = round(millionths * _UNITS[unit.lower()])
        if microseconds > 10**18:
            raise refuse("bad_duration", self.place, value=match.group())
        return timedelta(microseconds=microseconds)

    # --- times of day --------------------------------------------------------------------------------------------

    def times(self) -> tuple[time, ...]:
        """Parse a list of times; in 下午2点和5点 both are in the afternoon, until another part of the day is given."""
        before_list, found = self._part, []
        each = self.time_of_day()
        while each is not None:
            found.append(each)
            before = self._index
            if not self.take_separator():
                break
            each = self.time_of_day()
            if each is None:
                self._index = before
        self._said_part, self._part = self._part, before_list
        return tuple(dict.fromkeys(found))

    _said_part: DayPart | None = None

    def closing_time(self, opens: time) -> time:
        """Parse the end of a window: 下午2点到5点 ends in the afternoon, 晚上10点到2点 runs past midnight; unclear ones are refused."""
        self._part, place = self._said_part, self.place
        hour = self._hour_ahead()
        if self._part is not None and hour is not None and not fits_day_part(self._part, hour):
            if self._part not in ("evening", "night") or hour > 6:
                raise refuse("hour_does_not_fit", place, hour=hour)
            self._part = None
        closes = self.need_time()
        if self._part == "morning" and closes <= opens:
            raise refuse("hour_does_not_fit", place, hour=closes.hour)
        self._part = None
        return closes

    def _hour_ahead(self) -> int | None:
        """The hour of the next time if it has no part of the day of its own; else None."""
        for pattern in (_CLOCK, _SPOKEN):
            self.skip_blank()
            match = pattern.match(self._text, self._index)
            if match is not None:
                hour = self.number(match[1])
                return hour if 1 <= hour <= 12 else None
        return None

    def need_time(self) -> time:
        found = self.time_of_day()
        if found is None:
            raise refuse("time_expected", self.place, value=self.shown)
        return found

    def time_of_day(self) -> time | None:
        before = self._index
        said = self.match(_PART)
        part: DayPart | None = self._part
        if said is not None:
            part = self._part = DAY_PARTS.get(said.group()) or ("morning" if said.group() == "早" else "evening")
        place = self.place
        found = self._half_time(place) or self._clock_time(part, place) or self._spoken_time(part, place)
        if found is not None:
            return found
        bare = self.match(_BARE_HOUR)
        if bare is not None:
            return (
                resolve_day_part_hour(part, int(bare.group()), 0, 0, place)
                if part
                else resolve_bare_hour(int(bare.group()), place)
            )
        if said is not None and said.group() in ("中午", "午夜", "半夜"):
            return self._named_time(said.group(), before)
        self._index = before
        return None

    def _named_time(self, word: str, place: int) -> time:
        if word == "中午":
            return time(12)
        if self.draft.day is not None:
            raise refuse("midnight_twice", place + self._offset)
        return time(0)

    def _half_time(self, place: int) -> time | None:
        match = self.match(_HALF)
        if match is None:
            return None
        return resolve_twelve_hour(
            int(match[1]), int(match[2] or 0), 0, afternoon=match[3].lower() == "pm", position=place
        )

    def _clock_time(self, part: DayPart | None, place: int) -> time | None:
        match = self.match(_CLOCK)
        if match is None:
            return None
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        if part is not None and 1 <= hour <= 11:
            # With a colon, 下午9:00 is a 12-hour clock time.
            return make_time(hour + 12 * (part in _AFTERNOON), minute, second, place)
        if part is not None and hour == 12:
            return resolve_day_part_hour(part, hour, minute, second, place)
        return make_time(hour, minute, second, place, int((match[4] or "").ljust(6, "0")))

    def _spoken_time(self, part: DayPart | None, place: int) -> time | None:
        match = self.match(_SPOKEN)
        if match is None:
            return None
        hour = self.number(match[1])
        minute = 30 if match[2] else 15 if match[3] else 45 if match[4] else self.number(match[5]) if match[5] else 0
        second = self.number(match[6]) if match[6] else 0
        make_time(min(hour, 23), minute, second, place)
        self._note_early_hour(part, hour, minute, match.group().strip(), place)
        return (
            resolve_day_part_hour(part, hour, minute, second, place) if part else make_time(hour, minute, second, place)
        )

    def _note_early_hour(self, part: DayPart | None, hour: int, minute: int, said: str, place: int) -> None:
        """3点 is 03:00, and many mean the afternoon. A place may be read again once its part of the day is known."""
        if part is None and hour in _EARLY_HOURS:
            self._early_hours[place] = early_hour_note(hour, minute, "".join(said.split()))
        else:
            self._early_hours.pop(place, None)

    def offset(self) -> timedelta | None:
        match = self.match(_OFFSET)
        if match is None:
            return None
        if match[1] is None:
            return timedelta(0)
        if int(match[2]) > 18 or int(match[3]) > 59:
            raise refuse("no_such_time", self.place, value=match.group())
        return timedelta(hours=int(match[2]), minutes=int(match[3])) * (-1 if match[1] == "-" else 1)
