"""Vocabulary of the English grammar."""

from __future__ import annotations

from typing import Final

from ..calendar_days import Unit
from .clock_words import DayPart

_WEEKDAYS: Final = (
    ("mon", "monday", "mondays"),
    ("tue", "tues", "tuesday", "tuesdays"),
    ("wed", "weds", "wednesday", "wednesdays"),
    ("thu", "thur", "thurs", "thursday", "thursdays"),
    ("fri", "friday", "fridays"),
    ("sat", "saturday", "saturdays"),
    ("sun", "sunday", "sundays"),
)
WEEKDAYS: Final = {word: number for number, words in enumerate(_WEEKDAYS) for word in words}
WEEKDAY_GROUPS: Final = {
    **dict.fromkeys(("weekday", "weekdays", "workday", "workdays"), (0, 1, 2, 3, 4)),
    **dict.fromkeys(("weekend", "weekends"), (5, 6)),
}
# Synonyms of "weekday", used with "day" or "days".
WORKING: Final = ("business", "working", "work")
_MONTHS: Final = (
    ("jan", "january"),
    ("feb", "february"),
    ("mar", "march"),
    ("apr", "april"),
    ("may",),
    ("jun", "june"),
    ("jul", "july"),
    ("aug", "august"),
    ("sep", "sept", "september"),
    ("oct", "october"),
    ("nov", "november"),
    ("dec", "december"),
)
MONTHS: Final = {word: number for number, words in enumerate(_MONTHS, 1) for word in words}

# Units of real time, in seconds; `d` and `w` are exact lengths, a calendar day is "every day at …".
SECONDS: Final[dict[str, float]] = {
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
}
EXACT_DAYS: Final = {"d": 86_400, "w": 604_800}
# A quarter is not counted from a start: it means certain months of the year.
QUARTER: Final = ("quarter", "quarters")
PERIODS: Final[dict[str, Unit]] = {
    **dict.fromkeys(("day", "days"), "day"),
    **dict.fromkeys(("week", "weeks"), "week"),
    **dict.fromkeys(("month", "months"), "month"),
    **dict.fromkeys(("year", "years"), "year"),
}
ADVERBS: Final[dict[str, Unit]] = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annually": "year",
}
NUMBER_WORDS: Final = {
    word: number
    for number, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ],
        1,
    )
} | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
TENS: Final = ("20", "30", "40", "50")
# Words for a frequency without a time.
RATE_WORDS: Final = ("once", "twice", "thrice")
ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
DAY_PARTS: Final[dict[str, DayPart]] = {
    "morning": "morning",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "night",
}
CLAUSE_WORDS: Final = [
    "now",
    "in",
    "at",
    "on",
    "every",
    "each",
    "daily",
    "weekly",
    "monthly",
    "yearly",
    "hourly",
    "between",
    "from",
    "starting",
    "until",
    "through",
    "except",
    "after",
    "end",
    "times",
    "including",
    "skipped",
    "jitter",
    "gap",
    "fold",
    "today",
    "tomorrow",
    "tonight",
    "next",
    "this",
    "last",
    "first",
    "of",
    "the",
    "and",
    "to",
    "noon",
    "midnight",
    "other",
    "with",
    "up",
    "am",
    "pm",
    "morning",
    "afternoon",
    "evening",
    "night",
    "ending",
    "shift",
    "skip",
    "both",
    "cron",
    "time",
]
VOCABULARY: Final = tuple(
    dict.fromkeys([*CLAUSE_WORDS, *WEEKDAYS, *WEEKDAY_GROUPS, *MONTHS, *SECONDS, *PERIODS, *ADVERBS, *ORDINALS])
)
