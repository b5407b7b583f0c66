"""Recurrence rules in Chinese."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from ..recurrence import Frequency
from .chinese_words import WEEKDAYS
from .recurrence_parts import Told, runs, until_text

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


def sentence(told: Told) -> str:
    days, limits = _DAYS.get(told.rule.freq, _stride)(told)
    main = _joined(_every(told, days), days, _times(told, after=bool(days)))
    return "，".join([main, *(_joined("仅限", limit) for limit in limits), *_endings(told)])


def _every(told: Told, days: str) -> str:
    """每 2 周的周一, but 每周一, and 每 2 年 3 月的所有周一: one 的 is enough."""
    single, unit = _EVERY[told.rule.freq]
    if told.rule.interval == 1:
        return single
    return f"每 {told.rule.interval} {unit}{'的' if days and '的' not in days else ''}"


def _stride(told: Told) -> tuple[str, list[str]]:
    """DAILY and finer: every part about days, and the coarser times, can only limit."""
    rule, limits = told.rule, []
    if rule.flowing and rule.by_hour:
        limits.append(_numbers(rule.by_hour, "时"))
    if rule.freq in (Frequency.MINUTELY, Frequency.SECONDLY) and rule.by_minute:
        limits.append(_numbers(rule.by_minute, "分"))
    if rule.freq is Frequency.SECONDLY and rule.by_second:
        limits.append(_numbers(rule.by_second, "秒"))
    if rule.by_year_day:
        limits.append(_joined("每年", _days_from_either_end(rule.by_year_day)))
    return "", [*limits, *_month_day_limit(told), *_weekday_limit(told), *_month_limit(told)]


def _week(told: Told) -> tuple[str, list[str]]:
    names = _weekday_names(told.plain_weekdays)
    if names and told.rule.interval == 1:
        names = [names[0].removeprefix("周"), *names[1:]]  # 每周 + 一、周四
    return "、".join(names), _month_limit(told)


def _month(told: Told) -> tuple[str, list[str]]:
    rule = told.rule
    if rule.by_month_day:
        return _month_days(rule.by_month_day), [*_weekday_limit(told), *_month_limit(told)]
    return _weekdays(told), _month_limit(told)


def _year(told: Told) -> tuple[str, list[str]]:
    rule = told.rule
    days, limits = _year_days(told)
    place = ""
    if rule.by_week_number:
        place = "、".join(runs(rule.by_week_number, _week_number, lambda a, b: f"第 {a} 至 {b} 周"))
        limits = [*limits, *_month_limit(told)]
    elif rule.by_month:
        place = _months(rule.by_month)
    if not place or not days:
        return place or days, limits
    dates = len(rule.by_month) == 1 and rule.by_month_day and rule.by_month_day[0] > 0
    plain = dates and not rule.by_year_day and not rule.by_week_number
    return _joined(place, "" if plain else "的", days), limits


def _year_days(told: Told) -> tuple[str, list[str]]:
    rule = told.rule
    if rule.by_year_day:
        named = "全年" if rule.by_month or rule.by_week_number else ""
        days = _joined(named, _days_from_either_end(rule.by_year_day))
        return days, [*_month_day_limit(told), *_weekday_limit(told)]
    if rule.by_month_day:
        each = "" if rule.by_month else "各月的"
        return _joined(each, _month_days(rule.by_month_day)), _weekday_limit(told)
    if rule.by_week_number:
        return "、".join(_weekday_names(told.plain_weekdays)), []
    return _weekdays(told), []


def _month_day_limit(told: Told) -> list[str]:
    days = told.rule.by_month_day
    return [_joined("每月", _month_days(days))] if days else []


def _weekday_limit(told: Told) -> list[str]:
    names = [*_weekday_names(told.plain_weekdays), *_numbered_weekdays(told)]
    return ["、".join(names)] if names else []


def _month_limit(told: Told) -> list[str]:
    return [_months(told.rule.by_month)] if told.rule.by_month else []


def _times(told: Told, *, after: bool) -> str:
    """Clock times stand by themselves; hours, minutes and seconds hang on what they belong to."""
    rule = told.rule
    if told.times:
        return " " + "、".join(told.times)
    found = []
    if rule.by_hour and not rule.flowing:
        found.append(_numbers(rule.by_hour, "时"))
    if rule.by_minute and rule.freq not in (Frequency.MINUTELY, Frequency.SECONDLY):
        found.append(_numbers(rule.by_minute, "分"))
    if told.seconds and rule.freq is not Frequency.SECONDLY:
        found.append(_numbers(told.seconds, "秒"))
    if not found:
        return ""
    return _joined(" " if after else "的", "的 ".join(found))


def _endings(told: Told) -> list[str]:
    rule, found = told.rule, []
    if rule.by_set_position:
        chosen = runs(rule.by_set_position, _position, lambda a, b: f"第 {a} 至 {b} 次")
        found.append(_joined(f"{_EVERY[rule.freq][0]}只取其中", "、".join(chosen)))
    if told.week_start_matters:
        found.append(f"一周从{WEEKDAYS[rule.wkst]}开始")
    if rule.count is not None:
        found.append(f"共 {rule.count} 次")
    if rule.until is not None:
        whole_day = "" if isinstance(rule.until, datetime) else " 当天"
        found.append(f"直到 {until_text(rule.until)}{whole_day}")
    return found


def _weekdays(told: Told) -> str:
    """Weekdays of a month or year: all of them, or the nth."""
    plain = "、".join(_weekday_names(told.plain_weekdays))
    return "、".join([*([f"所有{plain}"] if plain else []), *_numbered_weekdays(told)])


def _weekday_names(weekdays: Iterable[int]) -> list[str]:
    return runs(weekdays, lambda day: WEEKDAYS[day], lambda a, b: f"{WEEKDAYS[a]}至{WEEKDAYS[b]}")


def _numbered_weekdays(told: Told) -> list[str]:
    return [_counted(nth, f"个{WEEKDAYS[weekday]}") for nth, weekday in told.numbered_weekdays]


def _months(months: Iterable[int]) -> str:
    return "、".join(runs(months, lambda month: f"{month} 月", lambda a, b: f"{a} 月至 {b} 月"))


def _month_days(days: Iterable[int]) -> str:
    return "、".join(
        runs(days, lambda day: f"{day} 日" if day > 0 else _counted(day, "天"), lambda a, b: f"{a} 日至 {b} 日")
    )


def _days_from_either_end(days: Iterable[int]) -> str:
    return "、".join(runs(days, lambda day: _counted(day, "天"), lambda a, b: f"第 {a} 至 {b} 天"))


def _week_number(week: int) -> str:
    return _counted(week, "周")


def _position(nth: int) -> str:
    return _counted(nth, "次")


def _counted(nth: int, noun: str) -> str:
    if nth == -1:
        return f"最后一{noun}"
    number = _NUMERALS.get(abs(nth)) if noun.startswith("个") else None
    return f"{'倒数' if nth < 0 else ''}第{number or f' {abs(nth)} '}{noun}"


def _numbers(numbers: tuple[int, ...], noun: str) -> str:
    return "、".join(runs(numbers, str, lambda a, b: f"{a} 至 {b}")) + f" {noun}"


def _joined(*pieces: str) -> str:
    """Chinese and digits are kept apart by one space."""
    text = ""
    for piece in pieces:
        apart = text and piece and text[-1] != " " and piece[0] != " " and text[-1].isascii() != piece[0].isascii()
        text += f" {piece}" if apart else piece
    return text


_DAYS: Final = {Frequency.WEEKLY: _week, Frequency.MONTHLY: _month, Frequency.YEARLY: _year}
