"""Chinese for cron, field by field, from the fields as understood."""

from __future__ import annotations

from ..cron_fields import CronFields, Field
from .chinese_words import WEEKDAYS
from .moments import even_step, runs, whole_step

_MOST_TIMES = 6


def cron_core(fields: CronFields) -> str:
    times, days = _times(fields), _days(fields)
    months = _months(fields.month)
    if months:
        days = days.removeprefix("每月").strip()
        return f"{months}的{' ' if days[0].isdigit() else ''}{days} {times}"
    return times if days == "每天" and times.startswith("每") else f"{days} {times}"


def _times(fields: CronFields) -> str:
    seconds, minutes, hours = (sorted(each.values) for each in (fields.second, fields.minute, fields.hour))
    if len(seconds) * len(minutes) * len(hours) <= _MOST_TIMES:
        return "、".join(_clock(h, m, s) for h in hours for m in minutes for s in seconds)
    parts = [f"{_numbers(hours)} 点" if len(hours) < 24 else "每小时" if len(minutes) < 60 else ""]
    minute_step = whole_step(minutes, 60)
    if minute_step is None:
        parts.append(f"第 {_numbers(minutes)} 分")
    elif seconds == [0] or minute_step > 1:
        parts = [part for part in parts if part != "每小时"]
        parts.append("每分钟" if minute_step == 1 else f"每 {minute_step} 分钟")
    if seconds != [0]:
        second_step = whole_step(seconds, 60)
        parts.append(
            f"第 {_numbers(seconds)} 秒"
            if second_step is None
            else "每秒"
            if second_step == 1
            else f"每 {second_step} 秒"
        )
        if minute_step == 1 and second_step is None:
            parts.insert(-1, "每分钟")
    return " ".join(part for part in parts if part)


def _clock(hour: int, minute: int, second: int) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")


def _numbers(values: list[int]) -> str:
    if even_step(values):
        return f"{values[0]}、{values[1]}、{values[2]}…{values[-1]}"
    return "、".join(str(first) if first == last else f"{first} 至 {last}" for first, last in runs(values))


def _days(fields: CronFields) -> str:
    by_day = None if fields.day.values == frozenset(range(1, 32)) else _day_part(fields.day)
    by_weekday = None if fields.weekday.values == frozenset(range(7)) else _weekday_part(fields.weekday)
    if not fields.both_day_fields:
        return "每天" if by_day is None or by_weekday is None else f"每月{_spaced(by_day)}或{by_weekday}"
    if by_day is None and by_weekday is None:
        return "每天"
    if by_day is None:
        return str(by_weekday)
    return f"每月{_spaced(by_day)}" + ("" if by_weekday is None else f"且为{by_weekday}")


def _spaced(text: str) -> str:
    return f" {text}" if text[0].isdigit() else text


def _day_part(field: Field) -> str:
    said = [f"{_numbers(sorted(field.values))} 日"] if field.values else []
    said += [f"距 {day} 日最近的非周末日" for day in sorted(field.nearest_working)]
    if field.last_working:
        said.append("最后一个非周末日")
    if field.last:
        said.append("最后一天")
    return "、".join(said)


def _weekday_part(field: Field) -> str:
    from_monday = sorted((weekday - 1) % 7 for weekday in field.values)
    said = [
        f"{WEEKDAYS[first]}至{WEEKDAYS[last]}"
        if last - first >= 2
        else "、".join(WEEKDAYS[day] for day in range(first, last + 1))
        for first, last in runs(from_monday)
    ]
    said += [f"每月第 {nth} 个{WEEKDAYS[(weekday - 1) % 7]}" for weekday, nth in sorted(field.nth)]
    said += [f"每月最后一个{WEEKDAYS[(weekday - 1) % 7]}" for weekday in sorted(field.last_weekdays)]
    joined = "、".join(said)
    return joined if "至" in joined or joined.startswith("每月") else f"每{joined}"


def _months(field: Field) -> str:
    if len(field.values) == 12:
        return ""
    return "、".join(
        f"{first} 月" if first == last else f"{first} 至 {last} 月" for first, last in runs(sorted(field.values))
    )
