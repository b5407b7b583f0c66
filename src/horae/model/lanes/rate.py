"""Rate of a lane: at most so many starts within any window of a given length, across all nodes."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from ...errors import Refusal
from ...schedule.durations import format_short_duration, parse_duration
from ..refusals import refuse

MAX_RATE_STARTS: Final = 10_000
MIN_RATE_PERIOD: Final = timedelta(milliseconds=1)
MAX_RATE_PERIOD: Final = timedelta(days=366)
_RATE: Final = re.compile(r"\s*(\d{1,6})\s*/(.*)", re.ASCII)


class Rate(NamedTuple):
    """At most `starts` starts in every window of the length `period`."""

    starts: int
    period: timedelta

    def __str__(self) -> str:
        return f"{self.starts}/{format_short_duration(self.period)}"


RateChange: TypeAlias = Rate | Literal["keep"] | None
"""New rate of a lane; None removes it."""


class StartsAt(NamedTuple):
    """Starts of a lane at one instant. A lane with a rate keeps its last ones, oldest first."""

    at: datetime
    number: int


def parse_rate(value: object) -> Rate:
    """Read `100/1s`: a number of starts, and a duration; refuses other text, and values out of bounds."""
    if isinstance(value, Rate):
        return check_rate(value)
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refuse("bad_rate", name="rate", value=value)
    try:
        length = parse_duration(match[2])
    except Refusal as error:
        raise refuse("bad_rate", name="rate", value=value) from error
    return check_rate(Rate(int(match[1]), length))


def check_rate(rate: Rate) -> Rate:
    """Return the rate; refuses one with a number of starts or a period out of bounds."""
    if not 1 <= rate.starts <= MAX_RATE_STARTS or not MIN_RATE_PERIOD <= rate.period <= MAX_RATE_PERIOD:
        raise refuse("bad_rate", name="rate", value=str(rate))
    return rate
