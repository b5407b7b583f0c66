"""Refusals of intervals and durations."""

from __future__ import annotations

from typing import Final

from .entry import Entry

EVERY: Final[dict[str, Entry]] = {
    "bad_interval": (
        "An interval of {value} is not possible.",
        "It lies between a millisecond and a hundred years, for example PT5M.",
        "间隔不能是 {value}。",
        "应在一毫秒到一百年之间，例如 PT5M。",
    ),
    "bad_duration": (
        "{value} is no duration.",
        "Write it as 90s, 1h30m, 2d or PT1H30M; months and years have no fixed length.",
        "{value} 不是时长。",
        "请写成 90s、1h30m、2d 或 PT1H30M；月和年没有固定长度。",
    ),
}
