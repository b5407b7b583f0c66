"""Parser for English durations and times of day."""

from __future__ import annotations

from datetime import time, timedelta

from ...errors import InvalidSchedule
from ..durations import parse_spoken_duration
from ..refusals import refuse
from .clock_words import DayPart, make_time, resolve_bare_hour, resolve_day_part_hour, resolve_twelve_hour
from .english_cursor import Cursor
from .english_words import DAY_PARTS, EXACT_DAYS, MONTHS, SECONDS

_DAYS = ("day", "days", "week", "weeks")


class Times(Cursor):
    """Remembers a part of the day given before the time, and whether am and pm were used at all."""

    _part: DayPart | None = None
    _clear_times = 0  # times with am, pm or a part of the day, or clearly on a 24-hour clock
    _open_times: tuple[
        tuple[int, int], ...
    ] = ()  # (hour, position) of times such as 8:30, which am or pm elsewhere makes ambiguous

    # --- lengths -------------------------------------------------------------------------------------------------

    def duration(self) -> timedelta:
        """`90s`, `1h30m`, `1 hour and 30 minutes`, `half an hour`, `an hour and a half`."""
        place = self.place
        total: timedelta | None = None
        while (part := self._duration_part()) is not None:
            total = part if total is None else total + part
            if self.take_words("and", "a", "half"):
                return total + part / 2
            if self.peek_word() == "and" and (self.peek(1).kind == "duration" or self.peek_word(2) in SECONDS):
                self._index += 1
        if total is None:
            raise self.refuse_unknown() if self.peek_word() else self._no_duration(place)
        return total

    def _no_duration(self, place: int) -> InvalidSchedule:
        """The refusal of a missing duration; after a number, a word similar to a unit is reported as mistyped."""
        refusal = refuse("duration_expected", place, value=self.shown)
        if self.peek().kind == "number" and self.peek_word(1):
            self._index += 1
            mistyped = self.refuse_unknown()
            return mistyped if mistyped.code == "unknown_word" else refusal
        return refusal

    def _duration_part(self) -> timedelta | None:
        token = self.peek()
        if token.kind == "duration":
            self._index += 1
            return parse_spoken_duration(token.text, token.place)
        if token.kind == "number" and self.peek_word(1) in {*SECONDS, *EXACT_DAYS, *_DAYS}:
            self._index += 2
            return parse_spoken_duration(token.text + self._tokens[self._index - 1].word, token.place)
        if token.word == "half" and (self.peek_word(1) in SECONDS or self.peek_word(2) in SECONDS):
            self._index += 1
            self.take("a", "an")
            return timedelta(seconds=SECONDS[self.next_word()]) / 2
        if token.word in ("a", "an") and self.peek_word(1) in {*SECONDS, *_DAYS}:
            self._index += 2
            return parse_spoken_duration("1" + self._tokens[self._index - 1].word, token.place)
        return None

    # --- times of day --------------------------------------------------------------------------------------------

    def need_time(self) -> time:
        found = self.time_of_day()
        if found is None:
            raise refuse("time_expected", self.place, value=self.shown)
        return found

    def times(self) -> tuple[time, ...]:
        found: list[time] = []
        each = self.time_of_day()
        while each is not None:
            found.append(each)
            if not self.take_separator("time", "number", words=("noon", "midnight")):
                break
            each = self.time_of_day()
        return tuple(dict.fromkeys(found))

    def check_half_days(self) -> None:
        """Refuse `8:30 and 9:30 pm`: am or pm at one time makes the other one ambiguous."""
        for hour, place in self._open_times if self._clear_times else ():
            resolve_bare_hour(hour, place)

    def time_of_day(self) -> time | None:
        token, place = self.peek(), self.place
        if token.word in ("noon", "midnight"):
            self._index += 1
            if token.word == "midnight" and self.draft.day is not None:
                raise refuse("midnight_twice", place)
            return time(12 if token.word == "noon" else 0)
        if token.kind == "time":
            self._index += 1
            return self._clock_time(token.text, place)
        if token.kind != "number" or not token.text.isdigit() or len(token.text) > 2:
            return None
        if self.peek_word(1) in ("times", "time") or self.peek_word(1) in SECONDS or self.peek_word(1) in MONTHS:
            return None
        self._index += 1
        return self._in_half(int(token.text), 0, 0, place) or resolve_bare_hour(int(token.text), place)

    def _clock_time(self, text: str, place: int) -> time:
        whole, _, fraction = text.partition(".")
        hour, minute, second = (*map(int, whole.split(":")), 0)[:3]
        found = self._in_half(hour, minute, second, place)
        if found is not None:
            return found
        if 1 <= hour <= 12:
            self._open_times = (*self._open_times, (hour, place))
        return make_time(hour, minute, second, place, int(fraction.ljust(6, "0") or 0))

    def _in_half(self, hour: int, minute: int, second: int, place: int) -> time | None:
        """The time if am, pm or a part of the day decides its half of the day; else None."""
        half = self.take("am", "pm")
        if half is not None:
            self._clear_times += 1
            return resolve_twelve_hour(hour, minute, second, afternoon=half == "pm", position=place)
        part = self._part_after() or self._part
        if part is None or hour == 0 or (hour > 12 and self._part is None):
            return None
        make_time(hour, minute, second, place)
        self._clear_times += 1
        return resolve_day_part_hour(part, hour, minute, second, place)

    def _part_after(self) -> DayPart | None:
        """`in the morning`, `at night`."""
        if self.peek_word() == "in" and self.peek_word(1) == "the" and self.peek_word(2) in DAY_PARTS:
            self._index += 3
            return DAY_PARTS[self._tokens[self._index - 1].word]
        if self.take_words("at", "night"):
            return "night"
        if self.peek_word() == "tonight":
            return "evening"  # the word itself is consumed as the day
        return None

    def offset(self) -> timedelta | None:
        token = self.take_kind("offset")
        if token is None:
            return None
        if token.text in "Zz":
            return timedelta(0)
        digits = token.text[1:].replace(":", "")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours > 18 or minutes > 59:
            raise refuse("no_such_time", token.place, value=token.text)
        return timedelta(hours=hours, minutes=minutes) * (-1 if token.text[0] == "-" else 1)
