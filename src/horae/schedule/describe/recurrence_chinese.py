"""Chinese descriptions of recurrence rules."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..recurrence import Frequency
from .moments import CHINESE_WEEKDAYS
from .recurrence_parts import RuleParts, describe_ranges, format_until

_EVERY: Final = {
    Frequency.YEARLY: ("每年", "年"),
    Frequency.MONTHLY: ("每月", "个月"),
    Frequency.WEEKLY: ("每周", "周"),
    Frequency.DAILY: ("每天", "天"),
    Frequency.HOURLY: ("每小时", "小时"),
    Frequency.MINUTELY: ("每分钟", "分钟"),
    Frequency.SECONDLY: ("每秒", "秒"),
}
_NUMERALS: Final = {1: "一", 2: "二", 3: "三", 4: "四", 5: "五"}


def describe_rule(parts: RuleParts) -> str:
    days, limits = _DAYS.get(parts.rule.freq, _describe_daily_or_finer)(parts)
    main = _join_spaced(_describe_interval(parts, days), days, _describe_times(parts, after=bool(days)))
    return "，".join([main, *(_join_spaced("仅限", limit) for limit in limits), *_describe_endings(parts)])


def _describe_interval(parts: RuleParts, days: str) -> str:
    """每 2 周的周一, but 每周一, and 每 2 年 3 月的所有周一: one 的 is enough."""
    single, unit = _EVERY[parts.rule.freq]
    if parts.rule.interval == 1:
        return single
    return f"每 {parts.rule.interval} {unit}{'的' if days and '的' not in days else ''}"


def _describe_daily_or_finer(parts: RuleParts) -> tuple[str, list[str]]:
    """DAILY and finer: the parts about days, and the coarser times, are limits."""
    rule, limits = parts.rule, []
    if rule.flowing and rule.by_hour:
        limits.append(_list_numbers(rule.by_hour, "时"))
    if rule.freq in (Frequency.MINUTELY, Frequency.SECONDLY) and rule.by_minute:
        limits.append(_list_numbers(rule.by_minute, "分"))
    if rule.freq is Frequency.SECONDLY and rule.by_second:
        limits.append(_list_numbers(rule.by_second, "秒"))
    if rule.by_year_day:
        limits.append(_join_spaced("每年", _list_numbered_days(rule.by_year_day)))
    return "", [
        *limits,
        *_describe_month_day_limit(parts),
        *_describe_weekday_limit(parts),
        *_describe_month_limit(parts),
    ]


def _describe_weekly(parts: RuleParts) -> tuple[str, list[str]]:
    names = _list_weekdays(parts.plain_weekdays)
    if names and parts.rule.interval == 1:
        names = [names[0].removeprefix("周"), *names[1:]]  # 每周 + 一、周四
    return "、".join(names), _describe_month_limit(parts)


def _describe_monthly(parts: RuleParts) -> tuple[str, list[str]]:
    rule = parts.rule
    if rule.by_month_day:
        return _list_month_days(rule.by_month_day), [*_describe_weekday_limit(parts), *_describe_month_limit(parts)]
    return _describe_weekdays(parts), _describe_month_limit(parts)


def _describe_yearly(parts: RuleParts) -> tuple[str, list[str]]:
    rule = parts.rule
    days, limits = _describe_year_days(parts)
    period = ""
    if rule.by_week_number:
        period = "、".join(describe_ranges(rule.by_week_number, _format_week_number, lambda a, b: f"第 {a} 至 {b} 周"))
        limits = [*limits, *_describe_month_limit(parts)]
    elif rule.by_month:
        period = _list_months(rule.by_month)
    if not period or not days:
        return period or days, limits
    dates = len(rule.by_month) == 1 and rule.by_month_day and rule.by_month_day[0] > 0
    plain = dates and not rule.by_year_day and not rule.by_week_number
    return _join_spaced(period, "" if plain else "的", days), limits


def _describe_year_days(parts: RuleParts) -> tuple[str, list[str]]:
    rule = parts.rule
    if rule.by_year_day:
        named = "全年" if rule.by_month or rule.by_week_number else ""
        days = _join_spaced(named, _list_numbered_days(rule.by_year_day))
        return days, [*_describe_month_day_limit(parts), *_describe_weekday_limit(parts)]
    if rule.by_month_day:
        each = "" if rule.by_month else "各月的"
        return _join_spaced(each, _list_month_days(rule.by_month_day)), _describe_weekday_limit(parts)
    if rule.by_week_number:
        return "、".join(_list_weekdays(parts.plain_weekdays)), []
    return _describe_weekdays(parts), []


def _describe_month_day_limit(parts: RuleParts) -> list[str]:
    days = parts.rule.by_month_day
    return [_join_spaced("每月", _list_month_days(days))] if days else []


def _describe_weekday_limit(parts: RuleParts) -> list[str]:
    names = [*_list_weekdays(parts.plain_weekdays), *_list_nth_weekdays(parts)]
    return ["、".join(names)] if names else []


def _describe_month_limit(parts: RuleParts) -> list[str]:
    return [_list_months(parts.rule.by_month)] if parts.rule.by_month else []


def _describe_times(parts: RuleParts, *, after: bool) -> str:
    """Clock times are written alone; hours, minutes and seconds are attached to the phrase before them."""
    rule = parts.rule
    if parts.times:
        return " " + "、".join(parts.times)
    phrases = []
    if rule.by_hour and not rule.flowing:
        phrases.append(_list_numbers(rule.by_hour, "时"))
    if rule.by_minute and rule.freq not in (Frequency.MINUTELY, Frequency.SECONDLY):
        phrases.append(_list_numbers(rule.by_minute, "分"))
    if parts.seconds and rule.freq is not Frequency.SECONDLY:
        phrases.append(_list_numbers(parts.seconds, "秒"))
    if not phrases:
        return ""
    return _join_spaced(" " if after else "的", "的 ".join(phrases))


def _describe_endings(parts: RuleParts) -> list[str]:
    rule, phrases = parts.rule, []
    if rule.by_set_position:
        positions = describe_ranges(rule.by_set_position, _format_position, lambda a, b: f"第 {a} 至 {b} 次")
        phrases.append(_join_spaced(f"{_EVERY[rule.freq][0]}只取其中", "、".join(positions)))
    if parts.week_start_matters:
        phrases.append(f"一周从{CHINESE_WEEKDAYS[rule.wkst]}开始")
    if rule.count is not None:
        phrases.append(f"共 {rule.count} 次")
    if rule.until is not None:
        whole_day = "" if isinstance(rule.until, datetime) else " 当天"
        phrases.append(f"直到 {format_until(rule.until)}{whole_day}")
    return phrases


def _describe_weekdays(parts: RuleParts) -> str:
    """Describe weekdays of a month or year: all of them, or the nth."""
    plain = "、".join(_list_weekdays(parts.plain_weekdays))
    return "、".join([*([f"所有{plain}"] if plain else []), *_list_nth_weekdays(parts)])


def _list_weekdays(weekdays: Iterable[int]) -> list[str]:
    return describe_ranges(
        weekdays, lambda day: CHINESE_WEEKDAYS[day], lambda a, b: f"{CHINESE_WEEKDAYS[a]}至{CHINESE_WEEKDAYS[b]}"
    )


def _list_nth_weekdays(parts: RuleParts) -> list[str]:
    return [_format_ordinal(nth, f"个{CHINESE_WEEKDAYS[weekday]}") for nth, weekday in parts.numbered_weekdays]


def _list_months(months: Iterable[int]) -> str:
    return "、".join(describe_ranges(months, lambda month: f"{month} 月", lambda a, b: f"{a} 月至 {b} 月"))


def _list_month_days(days: Iterable[int]) -> str:
    return "、".join(
        describe_ranges(
            days, lambda day: f"{day} 日" if day > 0 else _format_ordinal(day, "天"), lambda a, b: f"{a} 日至 {b} 日"
        )
    )


def _list_numbered_days(days: Iterable[int]) -> str:
    return "、".join(describe_ranges(days, lambda day: _format_ordinal(day, "天"), lambda a, b: f"第 {a} 至 {b} 天"))


def _format_week_number(week: int) -> str:
    return _format_ordinal(week, "周")


def _format_position(nth: int) -> str:
    return _format_ordinal(nth, "次")


def _format_ordinal(nth: int, noun: str) -> str:
    if nth == -1:
        return f"最后一{noun}"
    number = _NUMERALS.get(abs(nth)) if noun.startswith("个") else None
    return f"{'倒数' if nth < 0 else ''}第{number or f' {abs(nth)} '}{noun}"


def _list_numbers(numbers: tuple[int, ...], noun: str) -> str:
    return "、".join(describe_ranges(numbers, str, lambda a, b: f"{a} 至 {b}")) + f" {noun}"


def _join_spaced(*pieces: str) -> str:
    """Join pieces with one space between Chinese characters and digits."""
    text = ""
    for piece in pieces:
        needs_space = (
            text and piece and text[-1] != " " and piece[0] != " " and text[-1].isascii() != piece[0].isascii()
        )
        text += f" {piece}" if needs_space else piece
    return text


_DAYS: Final = {
    Frequency.WEEKLY: _describe_weekly,
    Frequency.MONTHLY: _describe_monthly,
    Frequency.YEARLY: _describe_yearly,
}
