"""Chinese descriptions; Monday to Friday is 周一至周五, since 工作日 would imply public holidays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, cast

from ...choices import Fold, Gap
from ..after import After
from ..after import On as AfterOn
from ..calendar import Calendar, NthWeekday, On
from ..cron_fields import CronFields
from ..every import From
from ..recurrence import Rule
from .cron_chinese import describe_cron
from .moments import CHINESE_WEEKDAYS, describe_clock, duration_parts, group_ranges
from .recurrence_chinese import describe_rule
from .recurrence_parts import RuleParts

_GAPS: Final[dict[Gap, str]] = {"next": "跳变时顺延", "shift": "跳变时平移", "skip": "跳变时跳过"}
_ENDS: Final[dict[AfterOn, str]] = {"succeeded": " 成功", "failed": " 失败", "ended": " 结束"}
_FOLDS: Final[dict[Fold, str]] = {"first": "重复时取首次", "last": "重复时取末次", "both": "重复时取两次"}


class Chinese:
    separator = "，"
    now = "现在"
    skipped_count = "含跳过的"
    list_separator = "；"

    def once(self, moment: str) -> str:
        return moment

    def every(self, interval: timedelta, since: From) -> str:
        return ("上次结束后" if since == "end" else "") + _describe_interval(interval)

    def cron(self, fields: CronFields) -> str:
        return describe_cron(fields)

    def calendar(self, calendar: Calendar) -> str:
        return describe_calendar(calendar)

    def rule(self, rule: Rule, start: datetime | None) -> str:
        return describe_rule(RuleParts.of(rule, start))

    def after(self, after: After) -> str:
        word = "且" if after.mode == "all" else "或"
        return "在 " + f" {word} ".join(f"{link.task}{_ENDS[link.on]}" for link in after.links) + "之后"

    def pair(self, former: str, last: str) -> str:
        return f"{former}{' ' if former[-1].isascii() else ''}以及{_space_before_digit(last)}"

    def exclude(self, moments: Sequence[str]) -> str:
        return f"除 {'、'.join(moments)} 外"

    def start(self, moment: str) -> str:
        return f"从 {moment} 起"

    def end(self, moment: str, *, whole_day: bool) -> str:
        return f"直到 {moment}{' 当天' if whole_day else ''}"

    def repeat(self, times: int) -> str:
        return f"共 {times} 次"

    def jitter(self, length: timedelta) -> str:
        return f"抖动不超过 {describe_duration(length)}"

    def gap(self, gap: Gap) -> str:
        return _GAPS[gap]

    def fold(self, fold: Fold) -> str:
        return _FOLDS[fold]


def describe_duration(length: timedelta) -> str:
    units = ("小时", "分钟", "秒", "毫秒")
    return " ".join(f"{amount} {units[unit]}" for amount, unit in duration_parts(length))


def _describe_interval(length: timedelta) -> str:
    text = describe_duration(length)
    return f"每{text[2:]}" if text in ("1 小时", "1 分钟", "1 秒", "1 毫秒") else f"每 {text}"


# --- calendar ----------------------------------------------------------------------------------------------------


def describe_calendar(calendar: Calendar) -> str:
    days = _describe_days(calendar)
    if calendar.hours is None or calendar.step is None:
        return f"{days} {'、'.join(describe_clock(each) for each in calendar.at)}"
    window = f"{describe_clock(calendar.hours.opens)} 至 {describe_clock(calendar.hours.closes)} {_describe_interval(calendar.step)}"
    if calendar.hours.days and calendar.unit == "day" and calendar.every == 1:
        # The window's days are the days of the schedule.
        return f"{_describe_month_limit(calendar)}{_describe_each_weekday(calendar.hours.days)} {window}"
    only = f"，限{_describe_weekdays(calendar.hours.days)}" if calendar.hours.days else ""
    return f"{days}{only}，{window}"


def _describe_days(calendar: Calendar) -> str:
    every = calendar.every
    match calendar.unit:
        case "day":
            return _describe_month_limit(calendar) + ("每天" if every == 1 else f"每 {every} 天")
        case "week":
            weekdays = cast("tuple[int, ...]", calendar.on)
            text = _describe_each_weekday(weekdays) if every == 1 else f"每 {every} 周的{_describe_weekdays(weekdays)}"
            return _describe_month_limit(calendar) + text
        case "month":
            days = _describe_on_days(calendar.on)
            if every > 1:
                return f"{_describe_month_limit(calendar)}每 {every} 个月的{_space_before_digit(days)}"
            return (
                f"{_describe_month_limit(calendar)}{_space_before_digit(days)}"
                if calendar.months
                else f"每月{_space_before_digit(days)}"
            )
        case "year":
            years = "每年" if every == 1 else f"每 {every} 年的"
            days = _describe_on_days(calendar.on)
            plain = len(calendar.months) == 1 and days[0].isdigit()
            return f"{years} {_describe_months(calendar.months)}{'' if plain else '的'}{_space_before_digit(days)}"


def _space_before_digit(text: str) -> str:
    """Put a blank between Chinese characters and digits."""
    return f" {text}" if text[0].isdigit() else text


def _describe_month_limit(calendar: Calendar) -> str:
    return f"每逢 {_describe_months(calendar.months)}的" if calendar.months else ""


def _describe_each_weekday(weekdays: Sequence[int]) -> str:
    text = _describe_weekdays(weekdays)
    return text if "至" in text and "、" not in text else f"每{text}"


def _describe_weekdays(weekdays: Sequence[int]) -> str:
    parts = []
    for first, last in group_ranges(list(weekdays)):
        if last - first >= 2:
            parts.append(f"{CHINESE_WEEKDAYS[first]}至{CHINESE_WEEKDAYS[last]}")
        else:
            parts.extend(CHINESE_WEEKDAYS[day] for day in range(first, last + 1))
    return "、".join(parts)


def _describe_months(months: Sequence[int]) -> str:
    return "、".join(f"{month} 月" for month in months)


def _describe_on_days(on: Sequence[On]) -> str:
    return "、".join(_describe_on_day(each) for each in sorted(on, key=_day_sort_key))


def _day_sort_key(each: On) -> tuple[bool, bool, int]:
    number = each.nth if isinstance(each, NthWeekday) else each
    return isinstance(each, NthWeekday), number < 0, number


def _describe_on_day(each: On) -> str:
    if isinstance(each, NthWeekday):
        return f"{_describe_nth(each.nth)}个{CHINESE_WEEKDAYS[each.weekday]}"
    return f"{each} 日" if each > 0 else "最后一天" if each == -1 else f"倒数第 {-each} 天"


def _describe_nth(number: int) -> str:
    if number > 0:
        return f"第 {number} "
    return "最后一" if number == -1 else f"倒数第 {-number} "
