"""The values inside Chinese clauses: durations, times, days, weekdays, days of the month, zones."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from typing import Final

from ..calendar import NthWeekday, On
from ..refusals import refuse
from .chinese_words import (
    DAY_PARTS,
    DAYS_WITH_PARTS,
    EXACT_DAYS,
    NAMED_DAYS,
    NUMBER,
    SECONDS,
    WEEK,
    WEEKDAY_SIGNS,
    chinese_number,
)
from .clock_words import DayPart, a_time, bare_hour, in_day_part
from .dates import DaysAhead, MonthDay, NamedDay, WeekdayAhead, a_date
from .draft import Draft, NamedMoment
from .zone_words import CHINESE_CITIES, zone_named


def _choice(words: object) -> str:
    return "|".join(sorted(words, key=len, reverse=True))  # type: ignore[call-overload]


_BLANK: Final = re.compile(r"\s*")
_LIST_MARK: Final = re.compile(r"\s*[、,和及与]\s*|\s*以及\s*")
_RANGE: Final = re.compile(r"\s*(?:到|至|-|–|—|~)\s*")
_ISO_DATE: Final = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_CHINESE_DATE: Final = re.compile(rf"({NUMBER})年\s*({NUMBER})月\s*({NUMBER})[日号]")
_MONTH_DAY: Final = re.compile(rf"({NUMBER})\s*月\s*({NUMBER})\s*[日号]")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?")
_SPOKEN: Final = re.compile(
    rf"({NUMBER})\s*[点时](?!间)(?:钟|整)?(?:(半)|(一刻)|(三刻)|\s*({NUMBER})(?!\s*[次天周月年个])\s*分?(?!钟)(?:\s*({NUMBER})\s*秒)?)?"
)
_BARE_HOUR: Final = re.compile(r"\d{1,2}(?=\s*(?:$|[,、]))")
_PART: Final = re.compile(_choice(DAY_PARTS))
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)(?!\d)|Z(?![A-Za-z])")
_DURATION: Final = re.compile(
    rf"(?:({NUMBER})(?:\.(\d+))?\s*(?:个(半)?)?|(半)个?)\s*({_choice([*SECONDS, *EXACT_DAYS])})(半)?"
)
_WEEKDAY_ITEM: Final = re.compile(rf"{WEEK}([一二三四五六日天])(?!个)")
_WEEKDAY_REST: Final = re.compile(r"[一二三四五六日天](?![年月日天周个号点时分秒小刻])")
_ZONE: Final = re.compile(r"@?[A-Za-z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+|@[A-Za-z][A-Za-z_]*|(?:UTC|GMT)(?![A-Za-z])")
_CITY_TIME: Final = re.compile(rf"({_choice(CHINESE_CITIES)})时间")


class Values:
    """A place in the text, and readers that move it on past what they recognise or leave it alone."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._index = 0
        self._part: DayPart | None = None
        self.draft = Draft()

    # --- moving on -----------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        self.skip_blank()
        return self._index >= len(self._text)

    @property
    def place(self) -> int:
        return self._index + self._offset

    @property
    def shown(self) -> str:
        return self._text[self._index : self._index + 8]

    def skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._index)
        if match is not None:
            self._index = match.end()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip_blank()
        found = pattern.match(self._text, self._index)
        if found is not None:
            self._index = found.end()
        return found

    def looking_at(self, pattern: re.Pattern[str]) -> bool:
        self.skip_blank()
        return pattern.match(self._text, self._index) is not None

    def take(self, *words: str) -> str | None:
        self.skip_blank()
        for word in sorted(words, key=len, reverse=True):
            if self._text.startswith(word, self._index):
                self._index += len(word)
                return word
        return None

    def list_goes_on(self) -> bool:
        return self.match(_LIST_MARK) is not None

    def number(self, text: str) -> int:
        found = chinese_number(text)
        if found is None:
            raise refuse("whole_number_expected", self.place, value=text)
        return found

    # --- durations -----------------------------------------------------------------------------------------------

    def duration(self) -> timedelta | None:
        """90秒, 一个半小时, 两小时30分钟, 半小时."""
        total: timedelta | None = None
        while (match := self.match(_DURATION)) is not None:
            part = self._duration_part(match)
            total = part if total is None else total + part
        if total is not None and (total.microseconds or total < timedelta(seconds=1)):
            raise refuse("sub_second", self.place, value=total)
        return total

    def _duration_part(self, match: re.Match[str]) -> timedelta:
        number, fraction, middle_half, leading_half, unit, trailing_half = match.groups()
        seconds = SECONDS.get(unit) or EXACT_DAYS[unit]
        whole = 0.0 if leading_half else float(self.number(number))
        if fraction:
            whole += float(f"0.{fraction[:6]}")
        if middle_half or leading_half or trailing_half:
            whole += 0.5
        if whole * seconds > 10**12:
            raise refuse("bad_duration", self.place, value=match.group())
        return timedelta(seconds=whole * seconds)

    # --- times of day --------------------------------------------------------------------------------------------

    def times(self) -> tuple[time, ...]:
        found: list[time] = []
        each = self.time_of_day()
        while each is not None:
            found.append(each)
            before = self._index
            if not self.list_goes_on():
                break
            each = self.time_of_day()
            if each is None:
                self._index = before
        return tuple(dict.fromkeys(found))

    def need_time(self) -> time:
        found = self.time_of_day()
        if found is None:
            raise refuse("time_expected", self.place, value=self.shown)
        return found

    def time_of_day(self) -> time | None:
        before = self._index
        part_match = self.match(_PART)
        part = DAY_PARTS[part_match.group()] if part_match else self._part
        place = self.place
        found = self._clock_time(part, place) or self._spoken_time(part, place)
        if found is None:
            bare = self.match(_BARE_HOUR)
            if bare is not None:
                return (
                    in_day_part(part, int(bare.group()), 0, 0, place) if part else bare_hour(int(bare.group()), place)
                )
            self._index = before
        return found

    def _clock_time(self, part: DayPart | None, place: int) -> time | None:
        match = self.match(_CLOCK)
        if match is None:
            return None
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        if part is not None and 1 <= hour <= 12:
            return in_day_part(part, hour, minute, second, place)
        return a_time(hour, minute, second, place, int((match[4] or "").ljust(6, "0")))

    def _spoken_time(self, part: DayPart | None, place: int) -> time | None:
        match = self.match(_SPOKEN)
        if match is None:
            return None
        hour = self.number(match[1])
        minute = 30 if match[2] else 15 if match[3] else 45 if match[4] else self.number(match[5]) if match[5] else 0
        second = self.number(match[6]) if match[6] else 0
        a_time(min(hour, 23), minute, second, place)
        return in_day_part(part, hour, minute, second, place) if part else a_time(hour, minute, second, place)

    def offset(self) -> timedelta | None:
        match = self.match(_OFFSET)
        if match is None:
            return None
        if match[1] is None:
            return timedelta(0)
        if int(match[2]) > 18 or int(match[3]) > 59:
            raise refuse("no_such_time", self.place, value=match.group())
        return timedelta(hours=int(match[2]), minutes=int(match[3])) * (-1 if match[1] == "-" else 1)

    # --- days ----------------------------------------------------------------------------------------------------

    def moment(self) -> NamedMoment | None:
        day = self.day()
        if day is not None:
            self.take("的", "T")
        at = self.time_of_day()
        if day is None and at is None:
            return None
        return NamedMoment(day, at, self.offset() if at is not None else None)

    def day(self) -> NamedDay | None:
        found: NamedDay | None = self.calendar_date()
        return found or self.month_day() or self._named_day()

    def calendar_date(self) -> date | None:
        place = self.place
        match = self.match(_ISO_DATE) or self.match(_CHINESE_DATE)
        if match is None:
            return None
        year, month, day = (self.number(part) for part in match.groups())
        return a_date(year, month, day, place)

    def month_day(self) -> MonthDay | None:
        place = self.place
        match = self.match(_MONTH_DAY)
        if match is None:
            return None
        found = MonthDay(self.number(match[1]), self.number(match[2]))
        a_date(2024, found.month, found.day, place)
        return found

    def _named_day(self) -> NamedDay | None:
        with_part = self.take(*DAYS_WITH_PARTS)
        if with_part is not None:
            days, self._part = DAYS_WITH_PARTS[with_part]
            return DaysAhead(days)
        named = self.take(*NAMED_DAYS)
        if named is not None:
            return DaysAhead(NAMED_DAYS[named])
        before = self._index
        week = self.take("下下", "下个", "下", "本", "这个", "这")
        match = self.match(_WEEKDAY_ITEM) if week else None
        if week is None or match is None:
            self._index = before
            return None
        return WeekdayAhead(WEEKDAY_SIGNS[match[1]], {"下下": 2, "下": 1, "下个": 1}.get(week, 0))

    def weekdays(self) -> tuple[int, ...] | None:
        """周一至周五, 每周一三, 周一、周三, 周末, 工作日."""
        found: set[int] = set()
        while True:
            group = self._weekday_group(continuing=bool(found))
            if group is None:
                return tuple(sorted(found)) or None
            found.update(group)
            before = self._index
            if self.list_goes_on() and not self._weekday_follows():
                self._index = before
                return tuple(sorted(found))

    def _weekday_follows(self) -> bool:
        return (
            self.looking_at(_WEEKDAY_ITEM)
            or self.looking_at(_WEEKDAY_REST)
            or self._text.startswith(("周末", "工作日"), self._index)
        )

    def _weekday_group(self, *, continuing: bool) -> tuple[int, ...] | None:
        """In 每周一三 the second sign stands alone; the first never does, or 每天 would be a Sunday."""
        if self.take("工作日") is not None:
            self.draft.notes.append("working_days")
            return (0, 1, 2, 3, 4)
        if self.take("周末") is not None:
            return (5, 6)
        item = self.match(_WEEKDAY_ITEM)
        rest = self.match(_WEEKDAY_REST) if item is None and continuing else None
        if item is None and rest is None:
            return None
        first = WEEKDAY_SIGNS[item[1] if item else rest.group()]  # type: ignore[union-attr]
        return self._weekday_range(first)

    def _weekday_range(self, first: int) -> tuple[int, ...]:
        before, place = self._index, self.place
        if self.match(_RANGE) is None:
            return (first,)
        end = self.match(_WEEKDAY_ITEM) or self.match(_WEEKDAY_REST)
        if end is None:
            self._index = before
            return (first,)
        last = WEEKDAY_SIGNS[end.group()[-1]]
        if last <= first:
            raise refuse("backwards_weekdays", place)
        return tuple(range(first, last + 1))

    def month_days(self) -> tuple[On, ...] | None:
        """1日、15号, 最后一天, 倒数第2天, 第2个周二, 最后一个周五, 月底."""
        found: list[On] = []
        while True:
            each = self._month_day_item()
            if each is None:
                return tuple(found) or None
            found.append(each)
            before = self._index
            if not self.list_goes_on():
                return tuple(found)
            if not self._month_day_follows():
                self._index = before
                return tuple(found)

    _DAY_ITEM: Final = re.compile(rf"({NUMBER})\s*[日号]")
    _NTH_WEEKDAY: Final = re.compile(rf"(?:(最后一)|(倒数)?第\s*({NUMBER})\s*)个?\s*{WEEK}([一二三四五六日天])")
    _NTH_LAST_DAY: Final = re.compile(rf"最后一[天日]|月底|月末|倒数第\s*({NUMBER})\s*[天日]")

    def _month_day_follows(self) -> bool:
        return any(self.looking_at(each) for each in (self._DAY_ITEM, self._NTH_WEEKDAY, self._NTH_LAST_DAY))

    def _month_day_item(self) -> On | None:
        place = self.place
        nth = self.match(self._NTH_WEEKDAY)
        if nth is not None:
            number = 1 if nth[1] else self.number(nth[3])
            if not 1 <= number <= 5:
                raise refuse("bad_nth", place, value=number)
            return NthWeekday(WEEKDAY_SIGNS[nth[4]], -number if nth[1] or nth[2] else number)
        last = self.match(self._NTH_LAST_DAY)
        day = None if last else self.match(self._DAY_ITEM)
        if last is None and day is None:
            return None
        number = (self.number(last[1]) if last[1] else 1) if last else self.number(day[1])  # type: ignore[index]
        if not 1 <= number <= 31:
            raise refuse("no_such_day", place, value=number)
        return -number if last else number

    _MONTH_ITEM: Final = re.compile(rf"({NUMBER})\s*月(?:份)?")

    def months(self) -> tuple[int, ...] | None:
        found: list[int] = []
        while True:
            before, place = self._index, self.place
            match = self.match(self._MONTH_ITEM)
            if match is None:
                self._index = before
                return tuple(sorted(set(found))) or None
            month = self.number(match[1])
            if not 1 <= month <= 12:
                raise refuse("bad_month", place, value=month)
            found.append(month)
            before = self._index
            if self.list_goes_on() and not self.looking_at(self._MONTH_ITEM):
                self._index = before
                return tuple(sorted(set(found)))

    # --- zones ---------------------------------------------------------------------------------------------------

    def zone(self) -> str | None:
        place = self.place
        city = self.match(_CITY_TIME)
        if city is not None:
            return CHINESE_CITIES[city[1]]
        match = self.match(_ZONE)
        if match is None:
            return None
        self.take("时间")
        return zone_named(match.group().lstrip("@"), place)

    def range_follows(self) -> bool:
        return self.match(_RANGE) is not None
