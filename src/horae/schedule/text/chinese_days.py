"""Parser for Chinese days, weekdays, days of the month, months and zones, and for one moment (昨天18:00)."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from ..calendar import NthWeekday, On
from ..refusals import refuse
from .chinese_cursor import any_word
from .chinese_times import Times
from .chinese_words import (
    DAY_PARTS,
    DAYS_WITH_PARTS,
    NAMED_DAYS,
    NUMBER,
    PAST_DAYS,
    PAST_DAYS_WITH_PARTS,
    WEEK,
    WEEKDAY_SIGNS,
)
from .dates import ComingWeekday, DayOfMonthAhead, DaysAhead, MomentWords, MonthDay, NamedDay, WeekdayAhead, make_date
from .draft import NamedMoment
from .zone_words import CHINESE_CITIES, resolve_marked_zone

_ISO_DATE: Final = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_CHINESE_DATE: Final = re.compile(rf"({NUMBER})年\s*({NUMBER})月\s*({NUMBER})[日号]")
_MONTH_DAY: Final = re.compile(rf"({NUMBER})\s*月\s*({NUMBER})\s*[日号]")
_DAY_OF_MONTH: Final = re.compile(rf"(下个?月|本月|这个月|当月)\s*({NUMBER})\s*[日号]")
_PAST_DAY_OF_MONTH: Final = re.compile(rf"上个?月\s*({NUMBER})\s*[日号]")
_SIGN: Final = f"[{''.join(WEEKDAY_SIGNS)}]"
_WEEKDAY_ITEM: Final = re.compile(rf"{WEEK}({_SIGN}|[1-7](?![\d:点时次]))(?!个)")
_WEEKDAY_REST: Final = re.compile(rf"(?:{_SIGN}|[1-7](?![\d:]))(?![年月日天周个号点时分秒小刻次])")
_ZONE: Final = re.compile(r"@?[A-Za-z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+|@[A-Za-z][A-Za-z0-9_+-]*|(?:UTC|GMT)(?![A-Za-z])")
_CITY_TIME: Final = re.compile(rf"({any_word(CHINESE_CITIES)})时间")
_DAY_ITEM: Final = re.compile(rf"({NUMBER})\s*[日号]|第\s*({NUMBER})\s*天")
_DAY_OF_LIST: Final = re.compile(rf"({NUMBER})(?=\s*[、,和到至-]\s*{NUMBER}(?:\s*[、,和到至-]\s*{NUMBER})*\s*[日号])")
_NTH_WEEKDAY: Final = re.compile(rf"(?:(最后一)|(倒数)?第\s*({NUMBER})\s*)个?\s*{WEEK}({_SIGN})")
_NTH_OF_LIST: Final = re.compile(rf"第\s*({NUMBER})(?=\s*[、,和]\s*第)")
_LAST_DAY: Final = re.compile(rf"最后一[天日]|月底|月末|倒数第\s*({NUMBER})\s*[天日]")
_MONTH_ITEM: Final = re.compile(rf"({NUMBER})\s*月(?:份)?")


class Days(Times):
    accepts_past = False
    """Whether past days are accepted: in questions about the past, not in schedules."""

    # --- one day -------------------------------------------------------------------------------------------------

    def moment(self) -> NamedMoment | None:
        """Parse a day with or without a time, or a time alone; a weekday means the next one."""
        place = self.place
        day = self.day() or self._coming_weekday()
        if day is not None:
            self.take("的", "T")
        at = self.time_of_day()
        self._part = None
        if day is None and at is None:
            return None
        return NamedMoment(day, at, self.offset() if at is not None else None, place)

    def _coming_weekday(self) -> ComingWeekday | None:
        match = self.match(_WEEKDAY_ITEM)
        return None if match is None else ComingWeekday(_weekday(match[1]))

    def day(self) -> NamedDay | None:
        found: NamedDay | None = self.calendar_date()
        return found or self.month_day() or self._day_of_month() or self._named_day()

    def calendar_date(self) -> date | None:
        place = self.place
        match = self.match(_ISO_DATE) or self.match(_CHINESE_DATE)
        if match is None:
            return None
        year, month, day = (self.number(part) for part in match.groups())
        return make_date(year, month, day, place)

    def month_day(self) -> MonthDay | None:
        place = self.place
        match = self.match(_MONTH_DAY)
        if match is None:
            return None
        month, day = self.number(match[1]), self.number(match[2])
        if not 1 <= month <= 12 or not 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31):
            raise refuse("bad_date", place, value=match.group())
        return MonthDay(month, day)

    def _day_of_month(self) -> DayOfMonthAhead | None:
        match = self.match(_DAY_OF_MONTH)
        return None if match is None else DayOfMonthAhead(int(match[1].startswith("下")), self.number(match[2]))

    def _past_day(self) -> NamedDay | None:
        """昨天, 前天, 昨晚, 上周一, 上上周五, 上个月25号."""
        with_part = self.take(*PAST_DAYS_WITH_PARTS)
        if with_part is not None:
            days, self._part = PAST_DAYS_WITH_PARTS[with_part]
            return DaysAhead(days)
        named = self.take(*PAST_DAYS)
        if named is not None:
            return DaysAhead(PAST_DAYS[named])
        month = self.match(_PAST_DAY_OF_MONTH)
        if month is not None:
            return DayOfMonthAhead(-1, self.number(month[1]))
        before = self._index
        week = self.take("上上个", "上上", "上个", "上")
        match = self.match(_WEEKDAY_ITEM) if week else None
        if week is None or match is None:
            self._index = before
            return None
        return WeekdayAhead(_weekday(match[1]), -2 if week.startswith("上上") else -1)

    def _named_day(self) -> NamedDay | None:
        past = self._past_day() if self.accepts_past else None
        if past is not None:
            return past
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
        return WeekdayAhead(_weekday(match[1]), {"下下": 2, "下": 1, "下个": 1}.get(week, 0))

    # --- recurring days ------------------------------------------------------------------------------------------

    def weekdays(self) -> tuple[int, ...] | None:
        """周一至周五, 每周一三, 周一、周三, 周末, 工作日."""
        found: set[int] = set()
        while True:
            group = self._weekday_group(continuing=bool(found))
            if group is None:
                return tuple(sorted(found)) or None
            found.update(group)
            before = self._index
            if self.take_separator() and not self._weekday_follows():
                self._index = before
                return tuple(sorted(found))

    def _weekday_follows(self) -> bool:
        named = self._text.startswith(("周末", "工作日"), self._index)
        return named or self.looking_at(_WEEKDAY_ITEM) or self.looking_at(_WEEKDAY_REST)

    def _weekday_group(self, *, continuing: bool) -> tuple[int, ...] | None:
        """Parse one weekday or range; a bare character counts only after another weekday (每周一三), or 每天 would be a Sunday."""
        if self.take("工作日") is not None:
            self.draft.notes.append("working_days")
            return (0, 1, 2, 3, 4)
        if self.take("周末") is not None:
            return (5, 6)
        item = self.match(_WEEKDAY_ITEM)
        if item is not None:
            return self._weekday_range(_weekday(item[1]))
        rest = self.match(_WEEKDAY_REST) if continuing else None
        return None if rest is None else self._weekday_range(_weekday(rest.group()))

    def _weekday_range(self, first: int) -> tuple[int, ...]:
        before, place = self._index, self.place
        end = (self.match(_WEEKDAY_ITEM) or self.match(_WEEKDAY_REST)) if self.range_follows() else None
        if end is None:
            self._index = before
            return (first,)
        last = _weekday(end.group()[-1])
        if last <= first:
            raise refuse("backwards_weekdays", place)
        return tuple(range(first, last + 1))

    def month_days(self) -> tuple[On, ...] | None:
        """1日、15号, 1、15号, 1-5号, 最后一天, 倒数第2天, 第2个周二, 第一、第三个周一, 月底."""
        found: list[On] = []
        while True:
            items = self._month_day_items()
            if items is None:
                return tuple(found) or None
            found += items
            before = self._index
            if not self.take_separator():
                return tuple(found)
            if not self._month_day_follows():
                self._index = before
                return tuple(found)

    def _month_day_follows(self) -> bool:
        kinds = (_DAY_ITEM, _DAY_OF_LIST, _NTH_WEEKDAY, _NTH_OF_LIST, _LAST_DAY)
        return any(self.looking_at(each) for each in kinds)

    def _month_day_items(self) -> list[On] | None:
        place = self.place
        nths = self._nth_weekdays(place)
        if nths is not None:
            return nths
        last = self.match(_LAST_DAY)
        if last is not None:
            return [-self._day_number(last[1] or "1", place)]
        listed = self.match(_DAY_OF_LIST)
        day = listed or self.match(_DAY_ITEM)
        if day is None:
            return None
        first = self._day_number(day[1] or day[2], place)
        before = self._index
        through = self.match(_DAY_ITEM) if listed and self.range_follows() else None
        if through is None:
            self._index = before
            return [first]
        return list(range(first, self._day_number(through[1] or through[2], place) + 1)) or [first]

    def _nth_weekdays(self, place: int) -> list[On] | None:
        """Parse nth weekdays; in 第一、第三个周一 both numbers refer to the weekday."""
        before, numbers = self._index, []
        while (listed := self.match(_NTH_OF_LIST)) is not None:
            numbers.append(self.number(listed[1]))
            self.take_separator()
        match = self.match(_NTH_WEEKDAY)
        if match is None:
            self._index = before
            return None
        number = 1 if match[1] else self.number(match[3])
        numbers.append(-number if match[1] or match[2] else number)
        if any(not 1 <= abs(each) <= 5 for each in numbers):
            raise refuse("bad_nth", place, value=number)
        return [NthWeekday(WEEKDAY_SIGNS[match[4]], each) for each in numbers]

    def _day_number(self, text: str, place: int) -> int:
        number = self.number(text)
        if not 1 <= number <= 31:
            raise refuse("no_such_day", place, value=number)
        return number

    def months(self) -> tuple[int, ...] | None:
        found: list[int] = []
        while True:
            before, place = self._index, self.place
            match = self.match(_MONTH_ITEM)
            if match is None:
                self._index = before
                return tuple(sorted(set(found))) or None
            month = self.number(match[1])
            if not 1 <= month <= 12:
                raise refuse("bad_month", place, value=month)
            found.append(month)
            before = self._index
            if self.take_separator() and not self.looking_at(_MONTH_ITEM):
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
        return resolve_marked_zone(match.group(), place)


def _weekday(sign: str) -> int:
    return int(sign) - 1 if sign.isdigit() else WEEKDAY_SIGNS[sign]


_DAY_PART: Final = re.compile(any_word(DAY_PARTS))


def read_chinese_moment(text: str) -> MomentWords | None:
    return _ChineseMoment(text, 0).read()


class _ChineseMoment(Days):
    accepts_past = True

    def read(self) -> MomentWords | None:
        """Parse the whole text as one moment, with the zone at either end; None if it is not one."""
        self.take("在", "于")
        zone = self.zone()
        day = self.day() or self._coming_weekday()
        if day is not None:
            self.take("的", "T")
        at = self.time_of_day()
        offset = None if at is None else self.offset()
        part = self._part
        if at is None and (said := self.match(_DAY_PART)) is not None:
            part = DAY_PARTS[said.group()]
        zone = zone or self.zone()
        if not self.is_done or (day is None and at is None and part is None):
            return None
        return MomentWords(day, at, part, offset, zone)
