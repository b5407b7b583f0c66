"""Chinese descriptions of cron expressions, built from the parsed fields."""

from __future__ import annotations

from ..cron_fields import CronFields, Field
from .moments import CHINESE_WEEKDAYS, even_step, group_ranges, is_listed, whole_step


def describe_cron(fields: CronFields) -> str:
    times, days, months = _describe_times(fields), _describe_days(fields), _describe_months(fields.month)
    if fields.is_one_date:
        return f"每年 {months} {min(fields.day.values)} 日 {times}"
    if months:
        days = days.removeprefix("每月").strip()
        return f"{months}的{_space_before_digit(days)} {times}"
    return times if days == "每天" and times.startswith("每") else f"{days} {times}"


def _describe_times(fields: CronFields) -> str:
    seconds, minutes, hours = (sorted(each.values) for each in (fields.second, fields.minute, fields.hour))
    if is_listed(fields):
        return "、".join(_format_clock(h, m, s) for h in hours for m in minutes for s in seconds)
    if seconds == [0]:
        return _describe_minutes(minutes, hours)
    during = _list_minutes(minutes, hours)
    step = whole_step(seconds, 60)
    if step is None:
        return f"{during}的第 {_list_numbers(seconds)} 秒"
    often = "每秒" if step == 1 else f"每 {step} 秒"
    return often if during == "每分钟" else f"{during}内{often}"


def _list_minutes(minutes: list[int], hours: list[int]) -> str:
    """Name the minutes by number: 每 5 分钟内 would include all five."""
    during = _describe_hours(hours)
    if len(minutes) == 60:
        return f"{during}每分钟"
    return f"{during or '每小时'}的第 {_list_numbers(minutes)} 分钟"


def _describe_minutes(minutes: list[int], hours: list[int]) -> str:
    step = whole_step(minutes, 60)
    during = _describe_hours(hours)
    if step is not None:
        return during + ("每分钟" if step == 1 else f"每 {step} 分钟")
    if minutes == [0]:
        hour_step = whole_step(hours, 24)
        if hour_step is not None and hour_step > 1:
            return f"每 {hour_step} 小时整点（从 0 点起）"
        return f"{during}整点" if during else "每小时整点"
    return _list_minutes(minutes, hours)


def _describe_hours(hours: list[int]) -> str:
    return "" if len(hours) == 24 else f"{_list_numbers(hours)} 点"


def _format_clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _list_numbers(values: list[int]) -> str:
    if even_step(values):
        return f"{values[0]}、{values[1]}、{values[2]}…{values[-1]}"
    return "、".join(str(first) if first == last else f"{first} 至 {last}" for first, last in group_ranges(values))


def _describe_days(fields: CronFields) -> str:
    by_day = None if fields.day.values == frozenset(range(1, 32)) else _describe_month_days(fields.day)
    by_weekday = None if fields.weekday.values == frozenset(range(7)) else _describe_weekdays(fields.weekday)
    if not fields.both_day_fields:
        return "每天" if by_day is None or by_weekday is None else f"每月{_space_before_digit(by_day)}或{by_weekday}"
    if by_day is None:
        return by_weekday or "每天"
    return f"每月{_space_before_digit(by_day)}" + ("" if by_weekday is None else f"且为{by_weekday.removeprefix('每')}")


def _space_before_digit(text: str) -> str:
    return f" {text}" if text[0].isdigit() else text


def _describe_month_days(field: Field) -> str:
    parts = [f"{_list_numbers(sorted(field.values))} 日"] if field.values else []
    parts += [f"距 {day} 日最近的非周末日" for day in sorted(field.nearest_working)]
    parts += [f"倒数第 {days + 1} 天" for days in sorted(field.before_last, reverse=True)]
    if field.last_working:
        parts.append("最后一个非周末日")
    if field.last:
        parts.append("最后一天")
    return "、".join(parts)


def _describe_weekdays(field: Field) -> str:
    parts: list[str] = []
    for first, last in group_ranges(sorted((weekday - 1) % 7 for weekday in field.values)):
        is_range = last - first >= 2
        parts += (
            [f"{CHINESE_WEEKDAYS[first]}至{CHINESE_WEEKDAYS[last]}"]
            if is_range
            else list(CHINESE_WEEKDAYS[first : last + 1])
        )
    counted = [f"第 {nth} 个{CHINESE_WEEKDAYS[(weekday - 1) % 7]}" for weekday, nth in sorted(field.nth)]
    counted += [f"最后一个{CHINESE_WEEKDAYS[(weekday - 1) % 7]}" for weekday in sorted(field.last_weekdays)]
    if counted:
        parts.append("每月" + "、".join(counted))
    plain = "、".join(parts)
    return plain if plain.startswith("每月") or ("至" in plain and "、" not in plain) else f"每{plain}"


def _describe_months(field: Field) -> str:
    if len(field.values) == 12:
        return ""
    return "、".join(
        f"{first} 月" if first == last else f"{first} 至 {last} 月"
        for first, last in group_ranges(sorted(field.values))
    )
