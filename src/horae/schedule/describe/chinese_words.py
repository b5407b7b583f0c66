"""Chinese words used by the descriptions."""

from __future__ import annotations

from typing import Final

WEEKDAYS: Final = ("周一", "周二", "周三", "周四", "周五", "周六", "周日")
FIELD_UNITS: Final = {"second": "秒", "minute": "分", "hour": "点", "day": "日", "month": "月"}
