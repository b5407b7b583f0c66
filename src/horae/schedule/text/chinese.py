"""Chinese grammar of the schedule language: parses clauses in any order, each recognised by its first word, into a draft."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from difflib import get_close_matches
from typing import Final

from ...errors import InvalidSchedule
from ...typography import truncate
from ..refusals import refuse
from ..value import Moment
from .chinese_cursor import any_word
from .chinese_days import Days
from .chinese_words import DAY_PARTS, FOLDS, GAPS, NUMBER, PERIODS, SECONDS, USUAL_HOURS, VOCABULARY
from .clock_words import DayPart
from .dates import DaysAhead, combine_moment
from .draft import Draft, NamedMoment, Period
from .zone_words import CHINESE_CITIES

_EACH: Final = re.compile(r"每个?|天天")
_COUNTED_PERIOD: Final = re.compile(rf"({NUMBER})\s*个?\s*(天|日|周(?!末)|星期|礼拜|月|年)(?!半)")
_BARE_PERIOD: Final = re.compile(r"(天|日|周(?!末)|星期|礼拜|月|年)")
_UNIT_ALONE: Final = re.compile(r"(毫秒|秒钟|秒|分钟|小时|钟头)")
_MINUTES_PAST: Final = re.compile(rf"的?\s*第?\s*({NUMBER})\s*分钟?(?!\s*[后一])|(整点)")
_TOTAL: Final = re.compile(rf"(?:一共|总共|共|最多|重复)\s*(?:执行|运行)?\s*({NUMBER})\s*次")
_RATE: Final = re.compile(rf"(?:执行|运行|跑)?\s*({NUMBER})\s*次")
_SKIPPED: Final = (",", ";", "。", "、", "的", "(", ")", "在", "于", "之间", "期间", "!", ".")
_DAY_PART: Final = re.compile(any_word(DAY_PARTS))
_NOW: Final = ("现在", "立即", "马上", "立刻", "此刻")
_DAY: Final = timedelta(days=1)
_SHOWN_CHARACTERS: Final = 24


def read_chinese(text: str, offset: int = 0, *, recurring: bool = False) -> Draft:
    """Parse a phrase into a draft; `offset` is its position in the text that the user typed; `recurring`: as after 每."""
    grammar = _Grammar(text, offset)
    grammar.draft.recurring = recurring or None
    return grammar.read()


class _Grammar(Days):
    _rate: tuple[int, int] | None = None  # 每天两次: (number, position in the text)
    _bare_part: tuple[DayPart, int, int] | None = None  # 明天早上: (part of the day, begin and end of its word)

    def read(self) -> Draft:
        while not self.is_done:
            if self.take(*_SKIPPED) is None:
                self._clause()
        self._check_rate()
        self._check_part()
        self.draft.notes += dict.fromkeys(self._early_hours.values())
        return self.draft

    def _clause(self) -> None:
        place = self.place
        attempts = (
            self._fixed_words,
            self._bounds,
            self._exclude,
            self._zone,
            self._in_months,
            self._every,
            self._total,
            self._delay,
            self._only_weekdays,
            self._day,
            self._month_days,
            self._weekdays,
            self._times,
            self._how_often,
            self._part_of_day,
        )
        if not any(attempt(place) for attempt in attempts):
            raise self._unknown()

    def _unknown(self) -> InvalidSchedule:
        shown = truncate(re.split(r"[\s,、。;]", self._text[self._index :], maxsplit=1)[0], _SHOWN_CHARACTERS)
        word = shown[:8]
        city = next((each for each in CHINESE_CITIES if word.startswith(each)), None)
        if city is not None:
            return refuse("unknown_word", self.place, word=shown, nearest=f"{city}时间")
        close = get_close_matches(word, VOCABULARY, n=1, cutoff=0.75)
        if close and close[0] != word:
            return refuse("unknown_word", self.place, word=shown, nearest=close[0])
        return refuse("not_understood", self.place, word=shown)

    # --- fixed words and modifiers -------------------------------------------------------------------------------

    def _fixed_words(self, place: int) -> bool:
        if self.take(*_NOW) is not None:
            self.draft.put("now", True, place)  # noqa: FBT003 - a slot's value
        elif self.take("上次结束后", "结束后", "上次完成后", "完成后") is not None:
            self.draft.put("after_end", True, place)  # noqa: FBT003 - a slot's value
        elif (gap := self.take(*GAPS)) is not None:
            self.draft.put("gap", GAPS[gap], place)
        elif (fold := self.take(*FOLDS)) is not None:
            self.draft.put("fold", FOLDS[fold], place)
        elif self.take("含跳过的", "含跳过") is not None:
            self.draft.put("counting", "planned", place)
        elif self.take("抖动不超过", "抖动") is not None:
            self.draft.put("jitter", self._need_duration(), place)
        elif self.take("持续", "连续") is not None:
            self.draft.put("lasting", self._need_duration(), place)
        else:
            return False
        return True

    def _bounds(self, place: int) -> bool:
        """从8点起, 从12月1日到12月31日, 直到2027-01-01, 到2027年1月1日为止."""
        if self.take("从", "自") is not None:
            moment = self.moment()
            if moment is None:
                raise refuse("day_expected", self.place, value=self.shown)
            self._begin(moment, place)
            return True
        if self.take("直到", "截止到", "截止至", "截止", "到", "至") is None:
            return False
        self._end(place)
        return True

    def _begin(self, moment: NamedMoment, place: int) -> None:
        if self.take("起", "开始") is not None:
            self.draft.put("start", moment, place)
        elif moment.day is None and moment.at is not None and self.range_follows():
            self.draft.put("window", (moment.at, self.closing_time(moment.at)), place)
        elif moment.day is not None and self.range_follows():
            self.draft.put("start", moment, place)
            self._end(place)
        else:
            raise refuse("word_expected", self.place, value=self.shown, wanted="起, 开始")

    def _end(self, place: int) -> None:
        before = self.place
        moment = self.moment()
        if moment is None or moment.day is None:
            raise refuse("end_needs_day" if moment else "day_expected", before, value=self.shown)
        self.take("当天")
        self.take("为止", "结束", "止")
        self.draft.put("end", moment, place)

    def _exclude(self, place: int) -> bool:
        """除 2026-12-25 外, 2026-12-25除外, 周日除外, 除周日外."""
        if self.take("节假日除外", "除节假日外", "除了节假日", "除节假日") is not None:
            raise refuse("no_holidays", place)
        before, notes = self._index, list(self.draft.notes)
        leading = self.take("除了", "除") is not None
        weekdays = self.weekdays()
        dates = [] if weekdays else self._dates(needed=leading)
        ends = ("以外", "之外", "外") if leading else ("除外",)
        if (self.take(*ends) is None and not leading) or not (weekdays or dates):
            self._index, self.draft.notes = before, notes
            return False
        if weekdays:
            self.draft.put("without", weekdays, place)
        else:
            self.draft.put("exclude", tuple(dates), place)
        return True

    def _dates(self, *, needed: bool) -> list[Moment]:
        found: list[Moment] = []
        while (each := self.calendar_date()) is not None:
            at = self.time_of_day()
            found.append(each if at is None else combine_moment(each, at, self.offset()))
            if not self.take_separator():
                return found
        if needed:
            raise refuse("date_expected", self.place, value=self.shown)
        return found

    def _zone(self, place: int) -> bool:
        zone = self.zone()
        if zone is not None:
            self.draft.put("zone", zone, place)
        return zone is not None

    # --- number of times -----------------------------------------------------------------------------------------

    def _total(self, place: int) -> bool:
        match = self.match(_TOTAL)
        if match is not None:
            self.draft.put("repeat", self.number(match[1]), place)
        return match is not None

    def _how_often(self, place: int) -> bool:
        """After 每, 一次 adds nothing, and 两次 is the number of times in each period; elsewhere it is a repeat limit."""
        match = self.match(_RATE)
        if match is None:
            return False
        number = self.number(match[1])
        if not self.draft.recurring:
            self.draft.put("repeat", number, place)
        elif number != 1:
            self._rate = (number, place)
        return True

    def _check_rate(self) -> None:
        if self._rate is None:
            return
        number, place = self._rate
        unit = self.draft.period.unit if self.draft.period else "week" if self.draft.weekdays else None
        if unit is None or self.draft.times is None or len(self.draft.times) != number:
            words = {"day": ("day", "天"), "week": ("week", "周"), "month": ("month", "月"), "year": ("year", "年")}
            raise refuse("rate_differs", place, unit=words.get(unit or "", ("period", "个周期")))

    # --- recurring -----------------------------------------------------------------------------------------------

    def _every(self, place: int) -> bool:
        if (each_part := self.take("每晚", "每早")) is not None:
            self._part = "evening" if each_part == "每晚" else "morning"
            self._put_period(1, "天", place)
            self.take("上")
            return True
        if (other := self.take("隔天", "隔日", "隔周")) is not None:
            self._put_period(2, other[1], place)
            return True
        if self.take("每隔") is not None:
            return self._every_other(place)
        each = self.match(_EACH)
        if each is None:
            return False
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        if each.group() == "天天":
            self._put_period(1, "天", place)
        elif not (self._each_weekday(place) or self._each_period(place) or self._each_interval(place)):
            raise refuse("every_what", self.place)
        return True

    def _put_period(self, every: int, unit: str, place: int) -> None:
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        self.draft.put("period", Period(every, PERIODS[unit]), place)

    def _every_other(self, place: int) -> bool:
        """每隔5分钟 is every five minutes, 每隔一天 every second day; 每隔两天 is ambiguous (two or three days) and refused."""
        match = self.match(_COUNTED_PERIOD)
        if match is not None:
            number = self.number(match[1])
            if number != 1:
                raise self._refuse_every_other(number, match, place)
            self._put_period(2, match[2], place)
            return True
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        self.draft.put("interval", self._need_duration(), place)
        return True

    def _refuse_every_other(self, number: int, match: re.Match[str], place: int) -> InvalidSchedule:
        before, after = self._text[: place - self._offset].lstrip(), self._text[match.end() :].rstrip()
        unit = "个月" if match[2] == "月" else match[2]
        one, other = (f"{before}每{each}{unit}{after}" for each in (number, number + 1))
        return refuse("every_other", place, one=one, other=other)

    def _each_weekday(self, place: int) -> bool:
        weekdays = self.weekdays()
        if weekdays is not None:
            self.draft.put("weekdays", weekdays, place)
        return weekdays is not None

    def _each_period(self, place: int) -> bool:
        if self.take("季度", "季") is not None:
            self.draft.put("quarterly", True, place)  # noqa: FBT003 - a slot's value
            return True
        counted = self.match(_COUNTED_PERIOD)
        if counted is not None:
            self._put_period(self.number(counted[1]), counted[2], place)
            return True
        bare = self.match(_BARE_PERIOD)
        if bare is None:
            return False
        self._put_period(1, bare[1], place)
        if bare[1] == "月" and self.take("底", "末") is not None:
            self.draft.put("month_days", (-1,), place)
        return True

    def _each_interval(self, place: int) -> bool:
        alone = self.match(_UNIT_ALONE)
        if alone is None:
            found = self.duration()
            if found is not None:
                self.draft.put("interval", found, place)
            return found is not None
        self.draft.put("interval", timedelta(seconds=SECONDS[alone[1]]), place)
        past = self.match(_MINUTES_PAST) if alone[1] in ("小时", "钟头") else None
        if past is not None:
            minute = 0 if past[2] else self.number(past[1])
            if minute > 59:
                raise refuse("no_such_time", place, value=past.group())
            self.draft.put("minutes_past", minute, place)
        return True

    def _in_months(self, place: int) -> bool:
        """每逢1月、7月 limits the rest of the schedule; 每年2月29日 is parsed by its own clause."""
        before = self._index
        said = self.take("每逢") is not None
        in_year = self.draft.period is not None and self.draft.period.unit == "year" and self.draft.months is None
        months = self.months() if said or in_year else None
        if months is None:
            self._index = before
            return False
        self.draft.put("months", months, place)
        return True

    def _only_weekdays(self, place: int) -> bool:
        before = self._index
        weekdays = self.weekdays() if self.take("限", "仅限", "仅") is not None else None
        if weekdays is None:
            self._index = before
            return False
        self.draft.put("window_days", weekdays, place)
        return True

    def _month_days(self, place: int) -> bool:
        if self.take("最后一个工作日", "最后一个工作天") is not None:
            raise refuse("last_working_day", place)
        days = self.month_days()
        if days is None:
            return False
        said = self.draft
        if not (said.recurring or said.period or said.months) and all(isinstance(day, int) and day > 0 for day in days):
            raise refuse("once_or_monthly", place, day=f"{days[0]}号")
        self.draft.put("month_days", days, place)
        return True

    def _weekdays(self, place: int) -> bool:
        weekdays = self.weekdays()
        if weekdays is None:
            return False
        clear = self.draft.recurring or self.draft.period or self.draft.window or self.draft.interval
        if len(weekdays) == 1 and not clear:
            raise refuse("once_or_weekly", place, day=f"周{'一二三四五六日'[weekdays[0]]}")
        self.draft.put("weekdays", weekdays, place)
        return True

    # --- one time ------------------------------------------------------------------------------------------------

    def _delay(self, place: int) -> bool:
        """20分钟后, 过20分钟, 三天后9点; 五分钟一次 is an interval."""
        before = self._index
        passing = self.take("过") is not None
        delay = self.duration()
        if delay is not None and self.take("以后", "之后", "后") is not None:
            passing = True
        if delay is None or not passing:
            rate = delay is not None and self.take("一次", "执行一次", "运行一次") is not None
            if delay is None or not rate:
                self._index = before
                return False
            self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
            self.draft.put("interval", delay, place)
            return True
        at = self._index
        timed = delay % _DAY == timedelta(0) and self.time_of_day() is not None
        self._index = at
        self.draft.put("day", DaysAhead(delay // _DAY), place) if timed else self.draft.put("delay", delay, place)
        return True

    def _day(self, place: int) -> bool:
        """明天9点, 明天起, 12月1日至12月31日."""
        day = self.day()
        if day is None:
            return False
        self.take("的", "T")
        before, part = self._index, self._part
        at = self.time_of_day()
        if self.take("起", "开始") is not None:
            self.draft.put("start", NamedMoment(day, at, place=place), place)
            self._part = None
            return True
        self._index, self._part = before, part
        if self._days_through(NamedMoment(day, None, place=place), place):
            return True
        self.draft.put("day", day, place)
        return True

    def _days_through(self, first: NamedMoment, place: int) -> bool:
        before = self._index
        last = self.day() if self.range_follows() else None
        if last is None:
            self._index = before
            return False
        self.draft.put("start", first, place)
        self.draft.put("end", NamedMoment(last, None, place=place), place)
        return True

    def _times(self, place: int) -> bool:
        times = self.times()
        if not times:
            return False
        # After a date, -05:00 is an offset; elsewhere 9:00-18:00 is a window.
        offset = self.offset() if isinstance(self.draft.day, date) else None
        if offset is not None:
            self.draft.put("offset", offset, place)
        elif len(times) == 1 and self._window(times[0], place):
            return True
        self.draft.put("times", times, place)
        return True

    def _part_of_day(self, place: int) -> bool:  # noqa: ARG002 - same signature as the other clauses
        """早上 without an hour: it applies to a time that follows; a text that ends without one is refused."""
        self.skip_blank()
        begin = self._index
        match = self.match(_DAY_PART)
        if match is None:
            return False
        self._part = DAY_PARTS[match.group()]
        self._bare_part = (self._part, begin, self._index)
        return True

    def _check_part(self) -> None:
        if self._bare_part is None or self.draft.times is not None or self.draft.window is not None:
            return
        part, begin, end = self._bare_part
        one, other = (f"{self._text[:end].strip()}{hour}点{self._text[end:].rstrip()}" for hour in USUAL_HOURS[part])
        raise refuse("missing_hour", begin + self._offset, one=one, other=other)

    def _window(self, opens: time, place: int) -> bool:
        before = self._index
        if not self.range_follows():
            return False
        at = self._index
        closes = self.time_of_day()
        if closes is None:
            self._index = before
            return False
        self._index = at
        self.draft.put("window", (opens, self.closing_time(opens)), place)
        return True

    def _need_duration(self) -> timedelta:
        found = self.duration()
        if found is None:
            raise refuse("duration_expected", self.place, value=self.shown)
        return found
