"""English grammar of the schedule language: parses clauses in any order, each recognised by its first word, into a draft."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from ..calendar import NthWeekday
from ..refusals import refuse
from ..value import Moment
from .dates import DaysAhead, combine_moment
from .draft import Draft, Period
from .english_days import Days
from .english_words import ADVERBS, DAY_PARTS, MONTHS, ORDINALS, PERIODS, QUARTER, SECONDS, WEEKDAYS

_DAY = timedelta(days=1)


def read_english(text: str, offset: int = 0, *, recurring: bool = False) -> Draft:
    """Parse a phrase into a draft; `offset` is its position in the text that the user typed; `recurring`: as after `every`."""
    grammar = _Grammar(text, offset)
    grammar.draft.recurring = recurring or None
    return grammar.read()


class _Grammar(Days):
    """Parses clause by clause; an unknown first word is refused with the nearest known word."""

    def read(self) -> Draft:
        self.take("run", "please")
        while not self.is_done:
            if not self.skip_mark(",", ";", "&"):
                self._clause()
        self.check_half_days()
        return self.draft

    def _clause(self) -> None:
        place = self.place
        for begins, clause in self._clauses():
            if self.take(*begins) is not None:
                clause(place)
                return
        attempts = (
            self._zone,
            self._later,
            self._repeat,
            self._moment_clause,
            self._bare_month_days,
            self._weekday_list,
            self._month_list,
        )
        if not (self.skip_mark("@") or any(attempt(place) for attempt in attempts)):
            raise self.refuse_unknown()

    def _clauses(self) -> list[tuple[tuple[str, ...], Callable[[int], None]]]:
        return [
            (("now",), lambda place: self.draft.put("now", True, place)),  # noqa: FBT003 - a slot's value
            (("in",), self._in),
            (("at",), self._at),
            (("on",), self._on),
            (("every", "each"), self._every),
            (("everyday",), lambda place: self._put_period(1, "day", place)),
            (("between",), self._between),
            (("from", "starting", "beginning"), self._from),
            (("until", "till", "through", "ending"), self._until),
            (("for",), lambda place: self.draft.put("lasting", self.duration(), place)),
            (("except", "excluding"), self._except),
            (("after",), self._after_end),
            (("with",), self._with),
            (("jitter",), self._jitter),
            (("gap",), lambda place: self.draft.put("gap", self.need_word("next", "shift", "skip"), place)),
            (("fold",), lambda place: self.draft.put("fold", self.need_word("first", "last", "both"), place)),
            (("including", "counting"), self._counting),
            (("hourly",), lambda place: self.draft.put("interval", timedelta(hours=1), place)),
            (("quarterly",), self._quarter),
            (("fortnightly",), lambda place: self._put_period(2, "week", place)),
            (tuple(ADVERBS), lambda place: self._put_period(1, ADVERBS[self.last_word], place)),
            (("of",), self._of),
        ]

    def _put_period(self, every: int, unit: str, place: int) -> None:
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        self.draft.put("period", Period(every, unit), place)  # type: ignore[arg-type]

    # --- one time ------------------------------------------------------------------------------------------------

    def _in(self, place: int) -> None:
        """`in 20 minutes`, `in 3 days at 9:00`, `in January and July`, `in Europe/Berlin`."""
        if self._zone(place) or self._month_list(place):
            return
        self._put_delay(self.duration(), place)

    def _put_delay(self, delay: timedelta, place: int) -> None:
        timed = self.peek_word() == "at" or self.peek().kind == "time"
        if timed and delay % _DAY == timedelta(0):
            self.draft.put("day", DaysAhead(delay // _DAY), place)
        else:
            self.draft.put("delay", delay, place)

    def _later(self, place: int) -> bool:
        """`2 hours from now`, `20 minutes later`."""
        before = self._index
        if self.peek().kind not in ("number", "duration") and self.peek_word() not in ("a", "an", "half"):
            return False
        delay = self.duration() if self._duration_ahead() else None
        if delay is None or not (self.take_words("from", "now") or self.take("later")):
            self._index = before
            return False
        self.draft.put("delay", delay, place)
        return True

    def _duration_ahead(self) -> bool:
        before = self._index
        found = self._duration_part() is not None
        self._index = before
        return found

    def _at(self, place: int) -> None:
        if self._minutes_past(place) or self._moment_clause(place):
            return
        raise refuse("time_expected", self.place, value=self.shown)

    def _minutes_past(self, place: int) -> bool:
        """`every hour at :30`."""
        token = self.take_kind("past")
        if token is None:
            return False
        if int(token.text[1:]) > 59:
            raise refuse("no_such_time", token.place, value=token.text)
        self.draft.put("minutes_past", int(token.text[1:]), place)
        return True

    def _moment_clause(self, place: int) -> bool:
        """Parse a day, one or more times, or a day and a time in either order."""
        day = self.day()
        if day is not None:
            self.draft.put("day", day, place)
        self.take("at")
        times = self.times()
        if times and self._range_follows():
            self.draft.put("window", (times[0], self.need_time()), place)
        elif times:
            offset = self.offset()
            if offset is not None:
                self.draft.put("offset", offset, place)
            self.draft.put("times", times, place)
        return day is not None or bool(times)

    def _range_follows(self) -> bool:
        """`9:00-17:00`, `9am to 5pm`."""
        timed = self.peek(1).kind in ("time", "number")
        if timed and (self.mark_ahead("-", "–", "—", "~") or self.peek_word() == "to"):
            self._index += 1
            return True
        return False

    # --- recurring -----------------------------------------------------------------------------------------------

    def _every(self, place: int) -> None:
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        if self.take("other") is not None:
            self._period(2, place)
        elif (
            self._nth_period(place)
            or self._year_day(place)
            or self._weekday_list(place)
            or self._month_days(place, of_needed=True)
        ):
            return
        elif self.peek_word() in DAY_PARTS:
            self._take_part()
            self._put_period(1, "day", place)
        elif self.take("fortnight") is not None:
            self._put_period(2, "week", place)
        elif (
            self.peek_word() in PERIODS
            or self.peek_word() in QUARTER
            or (self.peek_word() in SECONDS and self.peek_word(1) != "and")
        ):
            self._period(1, place)
        elif self.number_before(PERIODS):
            self._period(self.whole_number(), place)
        else:
            self.draft.put("interval", self._interval(), place)

    def _nth_period(self, place: int) -> bool:
        """`every second day`, `every 3rd hour`; but `every 1st day of the month` is a day of the month."""
        token = self.peek()
        unit = self.peek_word(1)
        if (unit not in PERIODS and unit not in SECONDS) or self.peek_word(2) == "of":
            return False
        if token.word in ORDINALS:
            number = ORDINALS[token.word]
        elif token.kind == "ordinal" and len(token.text) <= 5:
            number = int(token.text[:-2])
        else:
            return False
        self._index += 1
        self._period(number, place)
        return True

    def _interval(self) -> timedelta:
        """`every hour and a half` includes the hour whose number is not written."""
        if self.peek_word() in SECONDS:
            unit = timedelta(seconds=SECONDS[self.next_word()])
            return unit * 1.5 if self.take_words("and", "a", "half") else unit
        return self.duration()

    def _period(self, every: int, place: int) -> None:
        if self.take(*QUARTER) is not None:
            self._quarter(place)
        elif self.peek_word() in SECONDS:
            self.draft.put("interval", every * timedelta(seconds=SECONDS[self.next_word()]), place)
            if self.take_words("on", "the", "hour"):
                self.draft.put("minutes_past", 0, place)
        elif self.peek_word() in WEEKDAYS:
            self.draft.put("weekdays", (WEEKDAYS[self.next_word()],), place)
            self._put_period(every, "week", place)
        elif self.peek_word() in PERIODS:
            self._put_period(every, PERIODS[self.next_word()], place)
        else:
            raise self.refuse_unknown()

    def _quarter(self, place: int) -> None:
        self.draft.put("quarterly", True, place)  # noqa: FBT003 - a slot's value
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value

    def _year_day(self, place: int) -> bool:
        """`every 29 feb`, `every january 1st`."""
        if not self._days_of_months(place):
            return False
        self._put_period(1, "year", place)
        return True

    def _on(self, place: int) -> None:
        """`on Monday and Thursday`, `on the 1st`, `on 24 Dec 2026`."""
        yearly = self.draft.period is not None and self.draft.period.unit == "year"
        if yearly and self._days_of_months(place):
            return
        attempts = (self._moment_clause, self._month_days, self._weekday_list)
        if not any(attempt(place) for attempt in attempts):
            raise refuse("day_expected", self.place, value=self.shown)

    def _days_of_months(self, place: int) -> bool:
        found = self.month_day(clamped=True)
        if found is None:
            return False
        self.draft.put("months", (found.month,), place)
        self.draft.put("month_days", (found.day,), place)
        return True

    def _weekday_list(self, place: int) -> bool:
        weekdays = self.weekdays()
        if weekdays is None:
            return False
        said = self.draft
        clear = said.recurring or said.period or said.window or said.interval or self.has_plural
        if len(weekdays) == 1 and not clear and self.peek_word() not in ("every", "each"):
            raise refuse("once_or_weekly", place, day=self.last_word.capitalize())
        self.draft.put("weekdays", weekdays, place)
        return True

    def _bare_month_days(self, place: int) -> bool:
        """`last friday at 17:00` may mean the past one and is refused; `last friday of the month` is clear."""
        return self._month_days(place, of_needed=self.draft.period is None)

    def _month_days(self, place: int, *, of_needed: bool = False) -> bool:
        if self.peek_word() == "end" and self.peek_word(1) == "of":
            self._index += 1
            days = None
            self.draft.put("month_days", (-1,), place)
        else:
            days = self.month_days()
            if days is None:
                return False
            self.draft.put("month_days", days, place)
        if self.take("of") is not None:
            self._of(self.place)
        elif of_needed and any(isinstance(day, NthWeekday) for day in days or ()):
            raise refuse("nth_of_what", place)
        return True

    def _of(self, place: int) -> None:
        self.take("the", "every", "each", "a")
        if self.peek_word() in MONTHS:
            self._month_list(place)
        elif self.number_before(PERIODS):
            self._period(self.whole_number(), place)
        elif self.take("other") is not None:
            self._period(2, place)
        elif self.peek_word() in PERIODS or self.peek_word() in QUARTER:
            self._period(1, place)
        else:
            raise refuse("of_what", self.place)

    def _month_list(self, place: int) -> bool:
        months = self.months()
        if months is not None:
            self.draft.put("months", months, place)
        return months is not None

    def _between(self, place: int) -> None:
        opens = self.need_time()
        if not self.skip_mark("-", "–", "—", "~"):
            self.need_word("and", "to")
        self.draft.put("window", (opens, self.need_time()), place)
        if self.take("on") is None:
            return
        # Weekdays directly after the window are those on which it opens.
        weekdays = self.weekdays()
        if weekdays is None:
            raise refuse("day_expected", self.place, value=self.shown)
        self.draft.put("window_days", weekdays, place)

    def _after_end(self, place: int) -> None:
        self.take("the")
        if self.take("last") is not None:
            self.need_word("run")
            self.need_word("ended", "ends")
        else:
            self.need_word("end")
        self.draft.put("after_end", True, place)  # noqa: FBT003 - a slot's value

    # --- modifiers -----------------------------------------------------------------------------------------------

    def _from(self, place: int) -> None:
        """`from 09:00 to 18:00` is a window, `from 08:00` a start, `from 2026-12-01 to 2026-12-24` both bounds."""
        self.take("on", "at")
        if self.take("now") is not None:
            return
        moment = self.moment()
        if moment is None:
            raise refuse("day_expected", self.place, value=self.shown)
        clock_only = moment.day is None and moment.at is not None
        if clock_only and (self._range_follows() or self.take("until")):
            self.draft.put("window", (moment.at, self.need_time()), place)
            return
        self.draft.put("start", moment, place)
        if self.take("to") is not None:
            self._until(place)

    def _until(self, place: int) -> None:
        before = self.place
        moment = self.moment()
        if moment is None or moment.day is None:
            raise refuse("end_needs_day" if moment else "day_expected", before, value=self.shown)
        self.draft.put("end", moment, place)

    def _except(self, place: int) -> None:
        """`except 2026-12-25`, `except sunday`."""
        self.take("on")
        if self.take("holidays", "holiday") is not None:
            raise refuse("no_holidays", place)
        weekdays = self.weekdays()
        if weekdays is not None:
            self.draft.put("without", weekdays, place)
            return
        moments: list[Moment] = []
        while True:
            found = self._excluded()
            moments.append(found)
            if not self.take_separator("date"):
                break
        self.draft.put("exclude", tuple(moments), place)

    def _excluded(self) -> Moment:
        """Parse a date, or for a recurrence rule one of its times."""
        day = self.calendar_date()
        if day is None:
            raise refuse("date_expected", self.place, value=self.shown)
        at = self.time_of_day() if self.peek().kind == "time" else None
        return day if at is None else combine_moment(day, at, self.offset())

    def _with(self, place: int) -> None:
        del place
        if self.peek_word() not in ("jitter", "gap", "fold"):
            raise self.refuse_unknown()

    def _jitter(self, place: int) -> None:
        if self.take("up") is not None:
            self.need_word("to")
        self.draft.put("jitter", self.duration(), place)

    def _counting(self, place: int) -> None:
        self.need_word("skipped")
        self.draft.put("counting", "planned", place)

    def _repeat(self, place: int) -> bool:
        if not self.number_before(("times", "time")):
            return False
        self.draft.put("repeat", self.whole_number(), place)
        self.next_word()
        return True

    def _zone(self, place: int) -> bool:
        zone = self.zone()
        if zone is not None:
            self.draft.put("zone", zone, place)
        return zone is not None
