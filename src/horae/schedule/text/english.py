"""The English grammar: clauses in any sensible order, each recognised by its first word, gathered into a draft."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, time, timedelta

from ..calendar import NthWeekday
from ..refusals import refuse
from .draft import Draft, Period
from .english_values import Values
from .english_words import ADVERBS, MONTHS, ORDINALS, PERIODS, SECONDS, WEEKDAYS


def read_english(text: str, offset: int = 0) -> Draft:
    """Understand a phrase; `offset` is where it stands in the text that the person typed."""
    grammar = _Grammar(text, offset)
    return grammar.read()


class _Grammar(Values):
    """One clause after the other; what no clause begins with is refused, with the nearest known word."""

    def read(self) -> Draft:
        while not self.done:
            if not self.skip_mark(",", ";", "&"):
                self._clause()
        return self.draft

    def _clause(self) -> None:
        place = self.place
        for begins, clause in self._clauses():
            if self.take(*begins) is not None:
                clause(place)
                return
        for attempt in (
            self._zone,
            self._month_days,
            self._weekday_list,
            self._moment_clause,
            self._repeat,
            self._month_list,
        ):
            if attempt(place):
                return
        raise self.unknown()

    def _clauses(self) -> list[tuple[tuple[str, ...], Callable[[int], None]]]:
        return [
            (("now",), lambda place: self.draft.put("now", True, place)),  # noqa: FBT003 - a slot's value
            (("in",), self._in),
            (("at",), self._at),
            (("on",), self._on),
            (("every", "each"), self._every),
            (("between",), self._between),
            (("from", "starting", "beginning"), self._from),
            (("until", "till", "through", "ending"), self._until),
            (("except", "excluding"), self._except),
            (("after",), self._after_end),
            (("with",), self._with),
            (("jitter",), self._jitter),
            (("gap",), lambda place: self.draft.put("gap", self.need_word("next", "shift", "skip"), place)),
            (("fold",), lambda place: self.draft.put("fold", self.need_word("first", "last", "both"), place)),
            (("including", "counting"), self._counting),
            (("hourly",), lambda place: self.draft.put("interval", timedelta(hours=1), place)),
            (tuple(ADVERBS), self._adverb),
            (("of",), self._of),
        ]

    # --- when, once ----------------------------------------------------------------------------------------------

    def _in(self, place: int) -> None:
        """`in 20 minutes`, `in January and July`, `in Europe/Berlin`."""
        if self._zone(place) or self._month_list(place):
            return
        self.draft.put("delay", self.duration(), place)

    def _at(self, place: int) -> None:
        if self._moment_clause(place):
            return
        raise refuse("time_expected", self.place, value=self.shown)

    def _moment_clause(self, place: int) -> bool:
        """A day, a time, several times, or a day and a time in either order."""
        day = self.day()
        if day is not None:
            self.draft.put("day", day, place)
        self.take("at")
        times = self.times()
        if times:
            self._put_times(times, place)
        return day is not None or bool(times)

    def _put_times(self, times: tuple[time, ...], place: int) -> None:
        offset = self.offset()
        if offset is not None:
            self.draft.put("offset", offset, place)
        self.draft.put("times", times, place)

    # --- when, again and again -----------------------------------------------------------------------------------

    def _every(self, place: int) -> None:
        self.draft.put("recurring", True, place)  # noqa: FBT003 - a slot's value
        if self.take("other") is not None:
            self._period(2, place)
        elif self.peek_word() in ORDINALS and self.peek_word(1) in PERIODS and self.peek_word(2) != "of":
            self._period(ORDINALS[self.next_word()], place)
        elif self._month_days(place, of_needed=True) or self._year_day(place) or self._weekday_list(place):
            return
        elif self.peek_word() in PERIODS:
            self._period(1, place)
        elif self.peek_word() in SECONDS:
            self.draft.put("interval", timedelta(seconds=SECONDS[self.next_word()]), place)
        elif self.number_before(PERIODS):
            self._period(self.whole_number(), place)
        else:
            self.draft.put("interval", self.duration(), place)

    def _period(self, every: int, place: int) -> None:
        if self.peek_word() in SECONDS:
            self.draft.put("interval", every * timedelta(seconds=SECONDS[self.next_word()]), place)
            return
        if self.peek_word() in WEEKDAYS:
            self.draft.put("weekdays", (WEEKDAYS[self.next_word()],), place)
            self.draft.put("period", Period(every, "week"), place)
            return
        if self.peek_word() not in PERIODS:
            raise self.unknown()
        self.draft.put("period", Period(every, PERIODS[self.next_word()]), place)

    def _adverb(self, place: int) -> None:
        self.draft.put("period", Period(1, ADVERBS[self.last_word]), place)

    def _year_day(self, place: int) -> bool:
        """`every 29 feb`, `every january 1st`."""
        found = self.month_day()
        if found is None:
            return False
        self.draft.put("period", Period(1, "year"), place)
        self.draft.put("months", (found.month,), place)
        self.draft.put("month_days", (found.day,), place)
        return True

    def _on(self, place: int) -> None:
        """`on Monday and Thursday`, `on the 1st`, `on 24 Dec 2026`."""
        if self._yearly_on(place) or self._month_days(place) or self._weekday_list(place):
            return
        if not self._moment_clause(place):
            raise refuse("day_expected", self.place, value=self.shown)

    def _yearly_on(self, place: int) -> bool:
        """After `every year`, `on 29 February` is a day of each year; else it is one date."""
        period = self.draft.period
        return period is not None and period.unit == "year" and self._days_of_months(place)

    def _days_of_months(self, place: int) -> bool:
        found = self.month_day()
        if found is None:
            return False
        self.draft.put("months", (found.month,), place)
        self.draft.put("month_days", (found.day,), place)
        return True

    def _weekday_list(self, place: int) -> bool:
        weekdays = self.weekdays()
        if weekdays is None:
            return False
        clear = self.draft.recurring or self.draft.period or self.draft.window or self.draft.interval
        if len(weekdays) == 1 and not clear and not self.heard_plural:
            raise refuse("once_or_weekly", place, day=self.last_word.capitalize())
        follows_window = self.draft.window is not None and self.last_clause == "between"
        self.draft.put("window_days" if follows_window else "weekdays", weekdays, place)
        return True

    def _month_days(self, place: int, *, of_needed: bool = False) -> bool:
        """`the 1st and the 15th`, `the last Friday of the month`, `the 2nd to last day of every 2 months`."""
        days = self.month_days()
        if days is None:
            return False
        self.draft.put("month_days", days, place)
        if self.take("of") is not None:
            self._of(self.place)
        elif of_needed and any(isinstance(day, NthWeekday) and day.nth > 1 for day in days):
            raise refuse("nth_of_what", place)
        return True

    def _of(self, place: int) -> None:
        self.take("the", "every", "each", "a")
        self.take("year's")
        if self.peek_word() in MONTHS:
            if not self._month_list(place):
                raise self.unknown()
        elif self.number_before(PERIODS):
            self._period(self.whole_number(), place)
        elif self.take("other") is not None:
            self._period(2, place)
        elif self.peek_word() in PERIODS:
            self._period(1, place)
        else:
            raise refuse("of_what", self.place)

    def _month_list(self, place: int) -> bool:
        months = self.months()
        if months is None:
            return False
        self.draft.put("months", months, place)
        return True

    def _between(self, place: int) -> None:
        opens = self.need_time()
        self.need_word("and", "to")
        self.draft.put("window", (opens, self.need_time()), place)
        self.last_clause = "between"
        if self.take("on") is not None and not self._weekday_list(self.place):
            raise refuse("day_expected", self.place, value=self.shown)
        self.last_clause = ""

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
        """`from 09:00 to 18:00` is a window; `from 08:00`, `from 2026-03-01` is a start."""
        self.take("on", "at")
        moment = self.moment()
        if moment is None:
            raise refuse("day_expected", self.place, value=self.shown)
        if moment.day is None and moment.at is not None and self.take("to", "until") is not None:
            self.draft.put("window", (moment.at, self.need_time()), place)
            return
        self.draft.put("start", moment, place)

    def _until(self, place: int) -> None:
        moment = self.moment()
        if moment is None or moment.day is None:
            raise refuse("day_expected", self.place, value=self.shown)
        self.draft.put("end", moment, place)

    def _except(self, place: int) -> None:
        if self.take("holidays", "holiday") is not None:
            raise refuse("no_holidays", place)
        dates: list[date] = []
        while True:
            found = self.calendar_date()
            if found is None:
                raise refuse("date_expected", self.place, value=self.shown)
            dates.append(found)
            if not self.list_goes_on("date"):
                break
        self.draft.put("exclude", tuple(sorted(set(dates))), place)

    def _with(self, place: int) -> None:
        if self.peek_word() not in ("jitter", "gap", "fold"):
            raise self.unknown()
        del place

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
        if zone is None:
            return False
        self.draft.put("zone", zone, place)
        return True
