"""Reads the description of a cron expression literally into the times of day that it names."""

from __future__ import annotations

import re
from itertools import product

Times = set[tuple[int, int, int]]

_LIST = r"\d+(?: to \d+)?(?:, (?:\d+(?: to \d+)?|…))*(?: and \d+(?: to \d+)?)?"
_CLOCKS = r"\d\d:\d\d(?::\d\d)?(?:(?:, | and )\d\d:\d\d(?::\d\d)?)*"
_HOURS = rf"(?: of hours? (?P<hours>{_LIST})| of every hour)?"
_ENGLISH = (
    rf"(?:^| )at (?P<clocks>{_CLOCKS})",
    r"^every (?P<hour_step>\d+) hours on the hour, from 00:00",
    rf"^every (?:(?P<minute_step>\d+) minutes|minute){_HOURS}",
    rf"^at minutes? (?P<minutes>{_LIST}){_HOURS}",
    (
        rf"^(?:every (?:(?P<second_step>\d+) seconds|second)|at seconds? (?P<seconds>{_LIST}))"
        rf"(?: of (?:every minute|minutes? (?P<minutes>{_LIST})))?{_HOURS}"
    ),
)
_LIST_ZH = r"\d+(?: 至 \d+)?(?:[、…]\d+(?: 至 \d+)?)*"
_CLOCKS_ZH = r"\d\d:\d\d(?::\d\d)?(?:、\d\d:\d\d(?::\d\d)?)*"
_HOURS_ZH = rf"(?:(?P<hours>{_LIST_ZH}) 点|每小时)?"
_SECONDS_ZH = rf"(?:内每(?: (?P<second_step>\d+) )?秒|的第 (?P<seconds>{_LIST_ZH}) 秒)"
_CHINESE = (
    rf"(?P<clocks>{_CLOCKS_ZH})",
    r"每 (?P<hour_step>\d+) 小时整点（从 0 点起）",
    rf"{_HOURS_ZH}(?P<on_the_hour>整点)",
    rf"{_HOURS_ZH}每(?: (?P<minute_step>\d+) )?分钟",
    rf"{_HOURS_ZH}的第 (?P<minutes>{_LIST_ZH}) 分钟",
    r"每(?: (?P<second_step>\d+) )?秒",
    rf"{_HOURS_ZH}(?:每分钟|的第 (?P<minutes>{_LIST_ZH}) 分钟){_SECONDS_ZH}",
)


def claimed_in_english(core: str) -> Times:
    """Words about days stand in front of listed times, and behind all others after a comma."""
    return _times([match for pattern in _ENGLISH if (match := re.search(rf"{pattern}(?:$|, on |, in )", core))], core)


def claimed_in_chinese(core: str) -> Times:
    return _times([match for pattern in _CHINESE if (match := re.search(rf"(?:^| ){pattern}$", core))], core)


def _times(found: list[re.Match[str]], core: str) -> Times:
    assert found, f"the time of day in {core!r} cannot be read"
    longest = max(found, key=lambda match: len(match.group()))
    said = longest.groupdict()
    if clocks := said.get("clocks"):
        return {_clock(each) for each in re.findall(r"\d\d:\d\d(?::\d\d)?", clocks)}
    if step := said.get("hour_step"):
        return {(hour, 0, 0) for hour in range(0, 24, int(step))}
    hours = _numbers(said.get("hours"), 24)
    on_the_minute = said.get("on_the_hour") is not None
    minutes = {0} if on_the_minute else _stepped(said, "minute", 60)
    has_seconds = "second" in longest.re.pattern
    return set(product(hours, minutes, _stepped(said, "second", 60) if has_seconds else {0}))


def _stepped(said: dict[str, str | None], unit: str, size: int) -> set[int]:
    step = said.get(f"{unit}_step")
    return set(range(0, size, int(step))) if step else _numbers(said.get(f"{unit}s"), size)


def _numbers(text: str | None, size: int) -> set[int]:
    """`0, 5, 10, …, 55` goes on in the same step; no list at all is every number of the unit."""
    if text is None:
        return set(range(size))
    if "…" in text:
        *shown, last = map(int, re.findall(r"\d+", text))
        return set(range(shown[0], last + 1, shown[1] - shown[0]))
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?: (?:to|至) (\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _clock(text: str) -> tuple[int, int, int]:
    hour, minute, *second = map(int, text.split(":"))
    return hour, minute, second[0] if second else 0
