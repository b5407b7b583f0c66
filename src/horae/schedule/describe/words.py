"""Words that descriptions share: weekdays, months and units in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def join_with_and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


CHINESE_WEEKDAYS: Final = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")
CHINESE_FIELD_UNITS: Final = {"second": "秒", "minute": "分", "hour": "点", "day": "日", "month": "月"}
