"""The values inside English clauses: durations, times, days, weekdays, days of the month, zones."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, time, timedelta
from difflib import get_close_matches

from ...errors import InvalidSchedule
from ..calendar import NthWeekday, On
from ..durations import exact
from ..refusals import refuse
from .clock_words import a_time, bare_hour, in_day_part, twelve_hour
from .dates import DaysAhead, MonthDay, NamedDay, WeekdayAhead, a_date
from .draft import Draft, NamedMoment
from .english_tokens import Token, TokenKind, tokens_of
from .english_words import DAY_PARTS, EXACT_DAYS, MONTHS, ORDINALS, SECONDS, VOCABULARY, WEEKDAY_GROUPS, WEEKDAYS
from .zone_words import is_city, looks_like_zone, zone_named

_END = Token("mark", "", -1)


class Values:
    """A place in the tokens, and readers that move it on past what they recognise or leave it alone."""

    def __init__(self, text: str, offset: int) -> None:
        self._offset = offset
        self._length = len(text)
        self._tokens = tokens_of(text)
        self._index = 0
        self._tonight = False
        self.draft = Draft()
        self.last_word = ""
        self.last_clause = ""
        self.heard_plural = False

    # --- moving on -----------------------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        return self._index >= len(self._tokens)

    @property
    def place(self) -> int:
        return (self._length if self.done else self._tokens[self._index].place) + self._offset

    @property
    def shown(self) -> str:
        return "" if self.done else self._tokens[self._index].text

    def peek(self, ahead: int = 0) -> Token:
        index = self._index + ahead
        return self._tokens[index] if index < len(self._tokens) else _END

    def peek_word(self, ahead: int = 0) -> str:
        return self.peek(ahead).word

    def take(self, *words: str) -> str | None:
        if self.peek_word() and self.peek_word() in words:
            return self.next_word()
        return None

    def next_word(self) -> str:
        self.last_word = self.peek_word()
        self._index += 1
        return self.last_word

    def need_word(self, *words: str) -> str:
        found = self.take(*words)
        if found is None:
            raise refuse("word_expected", self.place, value=self.shown, wanted=", ".join(words))
        return found

    def take_kind(self, kind: TokenKind) -> Token | None:
        token = self.peek()
        if token.kind != kind or token is _END:
            return None
        self._index += 1
        return token

    def skip_mark(self, *marks: str) -> bool:
        if self.peek().kind == "mark" and self.peek().text in marks:
            self._index += 1
            return True
        return False

    def list_goes_on(self, *kinds: str, words: Collection[str] = ()) -> bool:
        """Past a comma or `and`, when another item of the same list follows it."""
        ahead = 0
        if self.peek().kind == "mark" and self.peek().text in (",", "&"):
            ahead = 1
        if self.peek_word(ahead) == "and":
            ahead += 1
        follows = self.peek(ahead)
        if ahead and (follows.kind in kinds or (follows.word and follows.word in words)):
            self._index += ahead
            return True
        return False

    def unknown(self) -> InvalidSchedule:
        word = self.shown
        close = get_close_matches(word.lower(), VOCABULARY, n=1, cutoff=0.6)
        if close:
            return refuse("unknown_word", self.place, word=word, nearest=close[0])
        return refuse("not_understood", self.place, word=word)

    # --- numbers and durations -----------------------------------------------------------------------------------

    def number_before(self, words: Collection[str]) -> bool:
        return self.peek().kind == "number" and self.peek_word(1) in words

    def whole_number(self) -> int:
        token = self.take_kind("number")
        if token is None or not token.text.isdigit() or len(token.text) > 10:
            raise refuse(
                "whole_number_expected", self.place if token is None else token.place + self._offset, value=self.shown
            )
        return int(token.text)

    def duration(self) -> timedelta:
        """`90s`, `1h30m`, `1 hour and 30 minutes`, `half an hour`."""
        place = self.place
        total: timedelta | None = None
        while True:
            part = self._duration_part()
            if part is None:
                break
            total = part if total is None else total + part
            if self.peek_word() == "and" and (self.peek(1).kind == "duration" or self.peek_word(2) in SECONDS):
                self._index += 1
        if total is None:
            raise self.unknown() if self.peek_word() else refuse("duration_expected", place, value=self.shown)
        return total

    def _duration_part(self) -> timedelta | None:
        token = self.peek()
        if token.kind == "duration":
            self._index += 1
            return exact(token.text.lower(), token.place + self._offset)
        if token.kind == "number" and self.peek_word(1) in {*SECONDS, *EXACT_DAYS, "day", "days", "week", "weeks"}:
            self._index += 2
            return exact(token.text + self._tokens[self._index - 1].word, token.place + self._offset)
        if token.word == "half" and self.peek_word(1) in ("an", "a"):
            self._index += 2
            return timedelta(seconds=SECONDS[self.need_word("hour", "minute")]) / 2
        if token.word in ("a", "an") and self.peek_word(1) in SECONDS:
            self._index += 2
            return timedelta(seconds=SECONDS[self._tokens[self._index - 1].word])
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
            if not self.list_goes_on("time", "number", words=("noon", "midnight")):
                break
            each = self.time_of_day()
        return tuple(dict.fromkeys(found))

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
        return self._hour_alone(int(token.text), place)

    def _clock_time(self, text: str, place: int) -> time:
        whole, _, fraction = text.partition(".")
        hour, minute, second = (*map(int, whole.split(":")), 0)[:3]
        half = self.take("am", "pm")
        if half is not None:
            return twelve_hour(hour, minute, second, afternoon=half == "pm", place=place)
        return a_time(hour, minute, second, place, int(fraction.ljust(6, "0") or 0))

    def _hour_alone(self, hour: int, place: int) -> time:
        half = self.take("am", "pm")
        if half is not None:
            return twelve_hour(hour, 0, 0, afternoon=half == "pm", place=place)
        part = self._day_part()
        if part is not None:
            return in_day_part(DAY_PARTS[part], hour, 0, 0, place)
        if self._tonight:
            return in_day_part("evening", hour, 0, 0, place)
        return bare_hour(hour, place)

    def _day_part(self) -> str | None:
        """`in the morning`, `at night`."""
        if self.peek_word() == "in" and self.peek_word(1) == "the" and self.peek_word(2) in DAY_PARTS:
            self._index += 3
            return self._tokens[self._index - 1].word
        if self.peek_word() == "at" and self.peek_word(1) == "night":
            self._index += 2
            return "night"
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
            raise refuse("no_such_time", token.place + self._offset, value=token.text)
        return timedelta(hours=hours, minutes=minutes) * (-1 if token.text[0] == "-" else 1)

    # --- days ----------------------------------------------------------------------------------------------------

    def moment(self) -> NamedMoment | None:
        """A day with or without a time, or a time alone."""
        day = self.day()
        if day is not None:
            self.take("at")
        at = (
            self.time_of_day()
            if day is None or self.peek().kind in ("time", "number") or self.peek_word() == "noon"
            else None
        )
        if day is None and at is None:
            return None
        if day is None and self.peek().kind == "word" and self.peek_word() in ("today", "tomorrow"):
            day = self.day()
        return NamedMoment(day, at, self.offset() if at is not None else None)

    def day(self) -> NamedDay | None:
        for reader in (self.calendar_date, self.month_day, self._named_day):
            found: NamedDay | None = reader()
            if found is not None:
                return found
        return None

    def calendar_date(self) -> date | None:
        token = self.take_kind("date")
        if token is not None:
            year, month, day = (int(part) for part in token.text.replace("/", "-").replace(".", "-").split("-"))
            return a_date(year, month, day, token.place + self._offset)
        before = self._index
        named = self.month_day()
        self.skip_mark(",")
        year_token = self.peek()
        if named is not None and year_token.kind == "number" and len(year_token.text) == 4:
            self._index += 1
            return a_date(int(year_token.text), named.month, named.day, year_token.place + self._offset)
        self._index = before
        return None

    def month_day(self) -> MonthDay | None:
        """`24 Dec`, `December 24th`, `the 24th of December`."""
        before, place = self._index, self.place
        self.take("the")
        day = self._day_number()
        if day is not None:
            self.take("of")
        month = self.take(*MONTHS)
        if day is None and month is not None:
            day = self._day_number()
        if day is None or month is None or self.list_goes_on(words=MONTHS):
            self._index = before
            return None
        a_date(2024, MONTHS[month], day, place)
        return MonthDay(MONTHS[month], day)

    def _day_number(self) -> int | None:
        token = self.peek()
        if (
            token.kind in ("number", "ordinal")
            and len(token.text.rstrip("stndrh")) <= 2
            and token.text.rstrip("stndrhSTNDRH").isdigit()
        ):
            self._index += 1
            return int(token.text.rstrip("stndrhSTNDRH"))
        return None

    def _named_day(self) -> NamedDay | None:
        place = self.place
        if self.take("today") is not None:
            return DaysAhead(0)
        if self.take("tonight") is not None:
            self._tonight = True
            return DaysAhead(0)
        if self.take("tomorrow") is not None:
            return DaysAhead(1)
        if self.peek_word() == "day" and self.peek_word(1) == "after" and self.peek_word(2) == "tomorrow":
            self._index += 3
            return DaysAhead(2)
        if self.peek_word() in ("next", "this") and self.peek_word(1) in WEEKDAYS:
            weeks = 1 if self.next_word() == "next" else 0
            if weeks:
                self.draft.notes.append("next_weekday")
            self.draft.places.setdefault("named_weekday", place)
            return WeekdayAhead(WEEKDAYS[self.next_word()], weeks)
        return None

    def weekdays(self) -> tuple[int, ...] | None:
        """`mon,wed`, `Monday to Friday`, `weekdays`."""
        if self.peek_word() not in WEEKDAYS and self.peek_word() not in WEEKDAY_GROUPS:
            return None
        found: set[int] = set()
        while True:
            word = self.next_word()
            self.heard_plural = self.heard_plural or (word.endswith("days") and word != "days")
            found.update(WEEKDAY_GROUPS.get(word) or self._weekday_range(WEEKDAYS[word]))
            if not self.list_goes_on(words={*WEEKDAYS, *WEEKDAY_GROUPS}):
                return tuple(sorted(found))

    def _weekday_range(self, first: int) -> tuple[int, ...]:
        dash = self.peek().kind == "mark" and self.peek().text in "-–—~"
        if not (dash or self.peek_word() in ("to", "through")) or self.peek_word(1) not in WEEKDAYS:
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
        while self.list_goes_on(words=MONTHS):
            found.append(MONTHS[self.next_word()])
        return tuple(sorted(set(found)))

    def month_days(self) -> tuple[On, ...] | None:
        """`the 1st, the 2nd Tuesday and the last day`."""
        found: list[On] = []
        while True:
            before = self._index
            self.take("the")
            each = self._month_day_item()
            if each is None:
                self._index = before
                return tuple(found) or None
            found.append(each)
            if not self.list_goes_on("ordinal", words=("the", "last", *ORDINALS)):
                return tuple(found)

    def _month_day_item(self) -> On | None:
        place = self.place
        nth = self._nth()
        if nth is None:
            return None
        if self.peek_word() in WEEKDAYS:
            if not 1 <= abs(nth) <= 5:
                raise refuse("bad_nth", place, value=nth)
            return NthWeekday(WEEKDAYS[self.next_word()], nth)
        if nth < 0:
            self.need_word("day")
        else:
            self.take("day")
        if not 1 <= abs(nth) <= 31:
            raise refuse("no_such_day", place, value=abs(nth))
        return nth

    def _nth(self) -> int | None:
        """`1st`, `last`, `2nd to last`; a month's name after it makes it a date instead."""
        token = self.peek()
        if token.word == "last":
            self._index += 1
            return -1
        if token.kind == "ordinal":
            number = int(token.text.rstrip("stndrhSTNDRH")) if len(token.text) <= 5 else 10**6
        elif token.word in ORDINALS and (self.peek_word(1) in WEEKDAYS or self.peek_word(1) in ("day", "to")):
            number = ORDINALS[token.word]
        else:
            return None
        self._index += 1
        if self.peek_word() == "to" and self.peek_word(1) == "last":
            self._index += 2
            return -number
        return number

    # --- zones ---------------------------------------------------------------------------------------------------

    def zone(self) -> str | None:
        token = self.peek()
        if token.kind == "zone":
            self._index += 1
            return zone_named(token.text.lstrip("@"), token.place + self._offset)
        if token.word and looks_like_zone(token.word):
            self._index += 1
            self.take("time")
            return zone_named(token.word, token.place + self._offset)
        for length in (3, 2, 1):
            words = [self.peek_word(ahead) for ahead in range(length)]
            if all(words) and self.peek_word(length) == "time" and is_city(" ".join(words)):
                self._index += length + 1
                return zone_named(" ".join(words), token.place + self._offset)
        return None
