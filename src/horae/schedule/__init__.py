"""Schedules: immutable values that compute the next instant from the past, in every time zone."""

from __future__ import annotations

from .after import After, Link
from .any_of import AnyOf
from .calendar import Calendar, Hours, NthWeekday
from .canonical import from_json, from_request, to_json
from .cron import Cron
from .evaluate import advance, count, count_each, due, first, iterate, next  # noqa: A004 - the product's own question
from .every import Every
from .once import Now, Once
from .rrule import RRule
from .tzif import TZDATA_VERSION
from .value import Past, Schedule

__all__ = [
    "TZDATA_VERSION",
    "After",
    "AnyOf",
    "Calendar",
    "Cron",
    "Every",
    "Hours",
    "Link",
    "Now",
    "NthWeekday",
    "Once",
    "Past",
    "RRule",
    "Schedule",
    "advance",
    "count",
    "count_each",
    "due",
    "first",
    "from_json",
    "from_request",
    "iterate",
    "next",
    "to_json",
]
