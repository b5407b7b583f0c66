"""The Chinese grammar: clauses in any sensible order, each recognised by how it begins, gathered into a draft."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from difflib import get_close_matches
from typing import Final

from ...errors import InvalidSchedule
from ..refusals import refuse
from .chinese_values import Values
from .chinese_words import FOLDS, GAPS, NUMBER, PERIODS, SECONDS, VOCABULARY
from .draft import Draft, Period

_EACH: Final = re.compile(r"每个?|天天")
_COUNTED_PERIOD: Final = re.compile(rf"({NUMBER})\s*个?\s*(天|日|周(?!末)|星期|礼拜|月|年)(?!半)")
_BARE_PERIOD: Final = re.compile(r"(天|日|周(?!末)|星期|礼拜|月|年)")
_UNIT_ALONE: Final = re.compile(r"(秒钟|秒|分钟|小时|钟头)")
_TIMES: Final = re.compile(rf"(?:一?共|总共|重复|执行)?\s*({NUMBER})\s*次")
_NOW: Final = ("现在", "立即", "马上", "立刻", "此刻")


def read_chinese(text: str, offset: int = 0) -> Draft:
    """Understand a phrase; `offset` is where it stands in the text that the person typed."""
    return _Grammar(text, offset).read()


class _Grammar(Values):
    def read(self) -> Draft:
        while not self.done:
            if self.take(",", ";", "。", "、", "的", "(", ")", "在", "于") is None:
                self._clause()
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
            self._repeat,
            self._delay,
            self._only_weekdays,
            self._day,
            self._month_days,
            self._weekdays,
            self._times,
        )
        if not any(attempt(place) for attempt in attempts):
            raise self._unknown()

    def _unknown(self) -> InvalidSchedule:
        word = re.split(r"[\s,、。;]", self._text[self._index :], maxsplit=1)[0][:8]
        close = get_close_matches(word, VOCABULARY, n=1, cutoff=0.4)
        if close:
            return refuse("unknown_word", self.place, word=word, nearest=close[0])
        return refuse("not_understood", self.place, word=word)

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
        elif self.take("含跳过") is not None:
            self.draft.put("counting", "planned", place)
        elif self.take("抖动不超过", "抖动") is not None:
            self.draft.put("jitter", self._need_duration(), place)
        else:
            return False
        return True

    def _bounds(self, place: int) -> bool:
        """从8点起, 直到2027-01-01, 到2027年1月1日为止."""
        before = self._index
        if self.take("从", "自") is not None:
            moment = self.moment()
            if moment is not None and moment.day is None and moment.at is not None and self.range_follows():
                self.draft.put("window", (moment.at, self.need_time()), place)
                return True
            if moment is None or self.take("起", "开始") is None:
                raise refuse("day_expected", self.place, value=self.shown)
            self.draft.put("start", moment, place)
            return True
        if self.take("直到", "截止到", "截止至", "截止", "到", "至") is None:
            return False
        moment = self.moment()
        if moment is None or moment.day is None:
            self._index = before
            raise refuse("day_expected", self.place, value=self.shown)
        self.take("当天")
        self.take("为止", "结束", "止")
        self.draft.put("end", moment, place)
        return True

    def _exclude(self, place: int) -> bool:
        if self.take("节假日除外", "除节假日外", "除了节假日", "除节假日") is not None:
            raise refuse("no_holidays", place)
        if self.take("除了", "除") is None:
            return False
        dates = [self._need_date()]
        while self.list_goes_on():
            dates.append(self._need_date())
        self.take("以外", "之外", "外")
        self.draft.put("exclude", tuple(sorted(set(dates))), place)
        return True

    def _need_date(self) -> date:
        found = self.calendar_date()
        if found is None:
            raise refuse("date_expected", self.place, value=self.shown)
        return found

    def _zone(self, place: int) -> bool:
        zone = self.zone()
        if zone is not None:
            self.draft.put("zone", zone, place)
        return zone is not None

    def _repeat(self, place: int) -> bool:
        match = self.match(_TIMES)
        if match is not None:
            self.draft.put("repeat", self.number(match[1]), place)
        return match is not None

    # --- when, again and again -----------------------------------------------------------------------------------

    def _every(self, place: int) -> bool:
        if self.take("隔天", "隔日") is not None:
            self.draft.put("period", Period(2, "day"), place)
            return True
        if self.take("每隔") is not None:
            return self._every_other(place)
        each = self.match(_EACH)
        if each is None:
            return False
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        if each.group() == "天天":
            self.draft.put("period", Period(1, "day"), place)
        elif not (self._each_weekday(place) or self._each_period(place) or self._each_interval(place)):
            raise refuse("every_what", self.place)
        return True

    def _every_other(self, place: int) -> bool:
        """每隔5分钟 is every five minutes; 每隔一天 may mean every day or every second one."""
        match = self.match(_COUNTED_PERIOD)
        if match is not None:
            number = self.number(match[1])
            raise refuse("every_other", place, one=f"每{number}{match[2]}", other=f"每{number + 1}{match[2]}")
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        self.draft.put("interval", self._need_duration(), place)
        return True

    def _each_weekday(self, place: int) -> bool:
        weekdays = self.weekdays()
        if weekdays is None:
            return False
        self.draft.put("weekdays", weekdays, place)
        return True

    def _each_period(self, place: int) -> bool:
        before = self._index
        counted = self.match(_COUNTED_PERIOD)
        if counted is not None:
            self.draft.put("period", Period(self.number(counted[1]), PERIODS[counted[2]]), place)
            return True
        bare = self.match(_BARE_PERIOD)
        if bare is None:
            self._index = before
            return False
        self.draft.put("period", Period(1, PERIODS[bare[1]]), place)
        return True

    def _each_interval(self, place: int) -> bool:
        alone = self.match(_UNIT_ALONE)
        if alone is not None:
            self.draft.put("interval", timedelta(seconds=SECONDS[alone[1]]), place)
            return True
        found = self.duration()
        if found is not None:
            self.draft.put("interval", found, place)
        return found is not None

    def _in_months(self, place: int) -> bool:
        """每逢1月、7月 limits whatever else is said; 每年2月29日 is said by its own words."""
        before = self._index
        said = self.take("每逢") is not None
        months = self.months() if said or self._in_year() else None
        if months is None:
            self._index = before
            return False
        self.draft.put("months", months, place)
        return True

    def _in_year(self) -> bool:
        return self.draft.period is not None and self.draft.period.unit == "year" and self.draft.months is None

    def _only_weekdays(self, place: int) -> bool:
        before = self._index
        weekdays = self.weekdays() if self.take("限", "仅限", "仅") is not None else None
        if weekdays is None:
            self._index = before
            return False
        self.draft.put("window_days", weekdays, place)
        return True

    def _month_days(self, place: int) -> bool:
        days = self.month_days()
        if days is not None:
            self.draft.put("month_days", days, place)
        return days is not None

    def _weekdays(self, place: int) -> bool:
        weekdays = self.weekdays()
        if weekdays is None:
            return False
        clear = self.draft.recurring or self.draft.period or self.draft.window or self.draft.interval
        if len(weekdays) == 1 and not clear:
            sign = "一二三四五六日"[weekdays[0]]
            raise refuse("once_or_weekly", place, day=f"周{sign}")
        self.draft.put("weekdays", weekdays, place)
        return True

    # --- when, once ----------------------------------------------------------------------------------------------

    def _delay(self, place: int) -> bool:
        before = self._index
        delay = self.duration()
        if delay is None or self.take("以后", "之后", "后") is None:
            self._index = before
            return False
        self.draft.put("delay", delay, place)
        return True

    def _day(self, place: int) -> bool:
        day = self.day()
        if day is None:
            return False
        self.draft.put("day", day, place)
        self.take("的", "T")
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

    def _window(self, opens: time, place: int) -> bool:
        before = self._index
        closes = self.time_of_day() if self.range_follows() else None
        if closes is None:
            self._index = before
            return False
        self.draft.put("window", (opens, closes), place)
        return True

    def _need_duration(self) -> timedelta:
        found = self.duration()
        if found is None:
            raise refuse("duration_expected", self.place, value=self.shown)
        return found
