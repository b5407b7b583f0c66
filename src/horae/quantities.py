"""Durations and sizes for sentences: `4m 10s`, `4 分钟 10 秒`, `1.5 MB`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from .message import Message

_CHINESE_UNITS: Final = {"ms": "毫秒", "s": "秒", "m": "分钟", "h": "小时", "d": "天"}
_AMOUNT_OF_UNIT: Final = re.compile(r"([\d.]+)(ms|s|m|h|d)")


def duration_message(shown: str) -> Message:
    """Return a duration such as `4m 10s` for use in a sentence: `4m 10s`, `4 分钟 10 秒`."""
    return Message(shown, _AMOUNT_OF_UNIT.sub(lambda found: f"{found[1]} {_CHINESE_UNITS[found[2]]}", shown))


def exact_duration(length: timedelta) -> str:
    """Return a duration with two significant units: `7ms`, `1.2s`, `30s`, `4m 10s`."""
    seconds = length.total_seconds()
    if round(seconds * 1000) < 1000:
        return f"{max(0, round(seconds * 1000))}ms"
    if round(seconds, 1) < 60:
        return f"{round(seconds, 1):g}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest}s" if rest else f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h {minutes}m" if minutes else f"{hours}h"
    return f"{hours // 24}d {hours % 24}h" if hours % 24 else f"{hours // 24}d"


def in_bytes(size: int) -> str:
    number, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
