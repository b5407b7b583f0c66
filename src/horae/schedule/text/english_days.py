"""Parser for English days, weekdays, days of the month, months and zones, and for one moment (`yesterday at 9am`)."""

from __future__ import annotations

from datetime import date

from ..calendar import NthWeekday, On
from ..refusals import refuse
from .dates import ComingWeekday, DaysAhead, LatestWeekday, MomentWords, MonthDay, NamedDay, WeekdayAhead, make_date
from .draft import NamedMoment
from .english_times import Times
from .english_words import DAY_PARTS, MONTHS, ORDINALS, WEEKDAY_GROUPS, WEEKDAYS, WORKING
from .zone_words import is_city, looks_like_zone, resolve_marked_zone, resolve_zone

_ENDINGS = "stndrhSTNDRH"


class Days(Times):
    has_plural = False
    accepts_past = False
    """Whether past days are accepted: in questions about the past, not in schedules."""

    # --- one day -------------------------------------------------------------------------------------------------

    def moment(self) -> NamedMoment | None:
        """Parse a day with or without a time, or a time alone; a weekday means the next one."""
        place = self.place
        day = self.day() or self._coming_weekday()
        if day is not None:
            self.take("at")
        timed = self.peek().kind in ("time", "number") or self.peek_word() == "noon"
        at = self.time_of_day() if day is None or timed else None
        if day is None and at is None:
            return None
        day_follows = self.peek_word() in ("today", "tomorrow") or (
            self.accepts_past and self.peek_word() == "yesterday"
        )
        if day is None and day_follows:
            day = self.day()
        return NamedMoment(day, at, self.offset() if at is not None else None, place)

    def _coming_weekday(self) -> ComingWeekday | None:
        word = self.take(*WEEKDAYS)
        return None if word is None else ComingWeekday(WEEKDAYS[word])

    def day(self) -> NamedDay | None:
        found: NamedDay | None = self._after_its_weekday() or self.calendar_date()
        return found or self.month_day() or self._named_day()

    def _after_its_weekday(self) -> NamedDay | None:
        """`Fri, 25 Dec 2026`: the weekday is redundant, but must be right."""
        before, place = self._index, self.place
        word = self.take(*WEEKDAYS)
        self.skip_mark(",")
        found = self.calendar_date() if word is not None else None
        if found is None:
            self._index = before
            return None
        if word is not None and found.weekday() != WEEKDAYS[word]:
            raise refuse("wrong_weekday", place, value=found.isoformat(), day=word.capitalize())
        return found

    def calendar_date(self) -> date | None:
        token = self.take_kind("date")
        if token is not None:
            year, month, day = (int(part) for part in token.text.replace("/", "-").replace(".", "-").split("-"))
            return make_date(year, month, day, token.place)
        before = self._index
        named = self.month_day()
        self.skip_mark(",")
        year_token = self.peek()
        if named is not None and year_token.kind == "number" and len(year_token.text) == 4:
            self._index += 1
            return make_date(int(year_token.text), named.month, named.day, year_token.place)
        self._index = before
        return None

    def month_day(self, *, clamped: bool = False) -> MonthDay | None:
        """`24 Dec`, `December 24th`, `the 24th of December`."""
        before, place = self._index, self.place
        self.take("the")
        day = self._day_number()
        if day is not None:
            self.take("of")
        month = self.take(*MONTHS)
        if day is None and month is not None:
            day = self._day_number()
        if day is None or month is None or self.take_separator(words=MONTHS):
            self._index = before
            return None
        longest = 29 if MONTHS[month] == 2 else 30 if MONTHS[month] in (4, 6, 9, 11) else 31
        if not 1 <= day <= (31 if clamped else longest):
            raise refuse("bad_date", place, value=f"{day} {month.capitalize()}")
        return MonthDay(MONTHS[month], day)

    def _day_number(self) -> int | None:
        token = self.peek()
        digits = token.text.rstrip(_ENDINGS)
        if token.kind not in ("number", "ordinal") or not digits.isdigit() or len(digits) > 2:
            return None
        self._index += 1
        return int(digits)

    def _past_day(self) -> NamedDay | None:
        """`yesterday morning`, `the day before yesterday`, `last night`, `last Monday`."""
        if self.take("yesterday") is not None:
            self._take_part()
            return DaysAhead(-1)
        if self.take_words("the", "day", "before", "yesterday") or self.take_words("day", "before", "yesterday"):
            self._take_part()
            return DaysAhead(-2)
        if self.take_words("last", "night"):
            self._part = "evening"
            return DaysAhead(-1)
        if self.peek_word() == "last" and self.peek_word(1) in WEEKDAYS:
            self.next_word()
            return LatestWeekday(WEEKDAYS[self.next_word()])
        return None

    def _named_day(self) -> NamedDay | None:
        past = self._past_day() if self.accepts_past else None
        if past is not None:
            return past
        if self.take("today") is not None:
            return DaysAhead(0)
        if self.take("tonight") is not None:
            self._part = "evening"
            return DaysAhead(0)
        if self.take("tomorrow") is not None:
            self._take_part()
            return DaysAhead(1)
        if self.take_words("day", "after", "tomorrow"):
            self._take_part()
            return DaysAhead(2)
        if self.peek_word() == "this" and self.peek_word(1) in DAY_PARTS:
            self._index += 1
            self._take_part()
            return DaysAhead(0)
        if self.peek_word() in ("next", "this") and self.peek_word(1) in WEEKDAYS:
            weeks = 1 if self.next_word() == "next" else 0
            if weeks:
                self.draft.notes.append("next_weekday")
            return WeekdayAhead(WEEKDAYS[self.next_word()], weeks)
        return None

    def _take_part(self) -> bool:
        """`tomorrow morning`, `every evening`."""
        word = self.take(*DAY_PARTS)
        if word is not None:
            self._part = DAY_PARTS[word]
        return word is not None

    # --- recurring days ------------------------------------------------------------------------------------------

    def weekdays(self) -> tuple[int, ...] | None:
        """`mon,wed`, `mon wed fri`, `Monday to Friday`, `weekdays`, `business days`."""
        if not self._weekday_ahead():
            return None
        found: set[int] = set()
        while True:
            found.update(self._weekday_group())
            if not (self.take_separator(words={*WEEKDAYS, *WEEKDAY_GROUPS}) or self.peek_word() in WEEKDAYS):
                return tuple(sorted(found))

    def _weekday_ahead(self) -> bool:
        working = self.peek_word() in WORKING and self.peek_word(1) in ("day", "days")
        return working or self.peek_word() in WEEKDAYS or self.peek_word() in WEEKDAY_GROUPS

    def _weekday_group(self) -> tuple[int, ...]:
        if self.take(*WORKING) is not None:
            self.need_word("day", "days")
            return WEEKDAY_GROUPS["weekdays"]
        word = self.next_word()
        self.has_plural = self.has_plural or (word.endswith("days") and word != "days")
        return WEEKDAY_GROUPS.get(word) or self._weekday_range(WEEKDAYS[word])

    def _weekday_range(self, first: int) -> tuple[int, ...]:
        ranged = self.mark_ahead("-", "–", "—", "~") or self.peek_word() in ("to", "through", "thru", "till")
        if not ranged or self.peek_word(1) not in WEEKDAYS:
            return (first,)
        place = self.place
        self._index += 1
        last = WEEKDAYS[self.next_word()]
        if last <= first:
            raise refuse("backwards_weekdays", place)
        return tuple(range(first, last + 1))

    def months(self) -> tuple[int, ...] | None:
        if self.peek_word() not in MONTHS:
            return None
        found = [MONTHS[self.next_word()]]
        while self.take_separator(words=MONTHS):
            found.append(MONTHS[self.next_word()])
        return tuple(sorted(set(found)))

    def month_days(self) -> tuple[On, ...] | None:
        """`the 1st and the 15th`, `the 1st and 3rd Monday` (both Mondays), `the 3rd Monday and the 1st day`."""
        found: list[On] = []
        bare = 0  # how many numbers at the end of the list have no weekday or `day` yet
        while True:
            before = self._index
            self.take("the")
            each, complete = self._month_day_item()
            if each is None:
                self._index = before
                return tuple(found) or None
            if isinstance(each, NthWeekday):
                waiting = [found.pop() for _ in range(bare)]
                found += [self._nth_weekday(each.weekday, nth) for nth in waiting if isinstance(nth, int)]
            found.append(each)
            bare = 0 if complete else bare + 1
            if not self.take_separator("ordinal", words=("the", "last", *ORDINALS)):
                return tuple(found)

    def _month_day_item(self) -> tuple[On | None, bool]:
        place = self.place
        nth = self._nth()
        if nth is None:
            return None, True
        if self.peek_word() in WEEKDAYS:
            return self._nth_weekday(WEEKDAYS[self.next_word()], nth), True
        complete = self.take("day") is not None
        if nth < 0 and not complete:
            raise self._no_last_day(place)
        if not 1 <= abs(nth) <= 31:
            raise refuse("no_such_day", place, value=abs(nth))
        return nth, complete

    def _no_last_day(self, place: int) -> Exception:
        if self.peek_word() in WORKING or self.peek_word() in ("weekday", "workday"):
            return refuse("last_working_day", place)
        return refuse("word_expected", self.place, value=self.shown, wanted="day, Monday … Sunday")

    def _nth_weekday(self, weekday: int, nth: int) -> NthWeekday:
        if not 1 <= abs(nth) <= 5:
            raise refuse("bad_nth", self.place, value=nth)
        return NthWeekday(weekday, nth)

    def _nth(self) -> int | None:
        """`1st`, `first`, `last`, `2nd to last`."""
        token = self.peek()
        if token.word == "last":
            self._index += 1
            return -1
        if token.kind == "ordinal":
            digits = token.text.rstrip(_ENDINGS)
            number = int(digits) if len(digits) <= 3 else 10**6
        elif token.word in ORDINALS and self._counts_something(self.peek_word(1)):
            number = ORDINALS[token.word]
        else:
            return None
        self._index += 1
        return -number if self.take_words("to", "last") else number

    def _counts_something(self, follows: str) -> bool:
        return follows in WEEKDAYS or follows in ("day", "to", "of", "and")

    # --- zones ---------------------------------------------------------------------------------------------------

    def zone(self) -> str | None:
        token = self.peek()
        if token.kind == "zone":
            self._index += 1
            return resolve_marked_zone(token.text, token.place)
        if token.word and looks_like_zone(token.word):
            self._index += 1
            self.take("time")
            return resolve_zone(token.word, token.place)
        for length in (3, 2, 1):
            words = [self.peek_word(ahead) for ahead in range(length)]
            if all(words) and is_city(" ".join(words)) and self._stands_alone(length):
                self._index += length
                self.take("time")
                return resolve_zone(" ".join(words), token.place)
        return None

    def _stands_alone(self, length: int) -> bool:
        """Whether a city is followed by `time`, a mark, or the end of the text."""
        follows = self.peek(length)
        return follows.word == "time" or follows.place < 0 or follows.kind == "mark"


def read_english_moment(text: str) -> MomentWords | None:
    return _EnglishMoment(text, 0).read()


class _EnglishMoment(Days):
    accepts_past = True

    def read(self) -> MomentWords | None:
        """Parse the whole text as one moment; None if it is not one."""
        while self.take("at", "on") is not None:
            pass
        found = self.moment()
        zone = None if found is None or self.is_done else self.zone()
        if found is None or not self.is_done:
            return None
        return MomentWords(found.day, found.at, self._part, found.offset, zone)
