"""Chinese sentences. Plain Monday to Friday is 周一至周五: 工作日 would promise public holidays."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, assert_never, cast

from ..calendar import Calendar, NthWeekday, On
from ..cron import Cron
from ..every import Every
from ..now import Now
from ..once import Once
from ..rrule import RRule
from ..value import Schedule
from .chinese_words import WEEKDAYS
from .cron_chinese import cron_core
from .moments import clock, moment, runs, wall_start, zone_word
from .recurrence import rule_sentence

SEPARATOR: Final = "，"
_GAPS: Final = {"next": "跳变时顺延", "shift": "跳变时平移", "skip": "跳变时跳过"}
_FOLDS: Final = {"first": "重复时取首次", "last": "重复时取末次", "both": "重复时取两次"}


def core(schedule: Schedule) -> str:
    known = cast("Now | Once | Every | Cron | Calendar | RRule", schedule)
    match known:
        case Now():
            return "现在"
        case Once():
            return moment(known.at, known.zone)
        case Every():
            return ("上次结束后" if known.since == "end" else "") + _interval(known.interval)
        case Cron():
            return cron_core(known.fields)
        case Calendar():
            return calendar_core(known)
        case RRule():
            return rule_sentence(known.parsed, wall_start(known), "zh")
        case _:
            assert_never(known)


def modifiers(schedule: Schedule) -> list[str]:
    said: list[str] = []
    exclude = getattr(schedule, "exclude", ())
    if exclude:
        said.append(f"除 {'、'.join(moment(each, schedule.zone) for each in exclude)} 外")
    if schedule.start is not None:
        said.append(f"从 {moment(schedule.start, schedule.zone)} 起")
    if schedule.end is not None:
        whole_day = "" if hasattr(schedule.end, "hour") else " 当天"
        said.append(f"直到 {moment(schedule.end, schedule.zone)}{whole_day}")
    if schedule.repeat is not None:
        said.append(f"共 {schedule.repeat} 次")
    if schedule.counting == "planned":
        said.append("含跳过")
    if schedule.jitter is not None:
        said.append(f"抖动不超过 {duration(schedule.jitter)}")
    if schedule.gap is not None and not (isinstance(schedule, RRule) and schedule.gap == "skip"):
        said.append(_GAPS[schedule.gap])
    if schedule.fold is not None:
        said.append(_FOLDS[schedule.fold])
    if schedule.zone is not None:
        said.append(zone_word(schedule.zone))
    return said


def duration(length: timedelta) -> str:
    """小时 is the largest unit, since 天 would sound like the calendar's."""
    hours, rest = divmod(length.days * 86_400 + length.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
    if seconds and not hours and minutes == 1 and not fraction:
        minutes, seconds = 0, seconds + 60
    parts = [(str(hours), "小时"), (str(minutes), "分钟"), (f"{seconds}{fraction}", "秒")]
    return " ".join(f"{amount} {unit}" for amount, unit in parts if amount != "0")


def _interval(length: timedelta) -> str:
    said = duration(length)
    return f"每{said[2:]}" if said in ("1 小时", "1 分钟", "1 秒") else f"每 {said}"


# --- calendar ----------------------------------------------------------------------------------------------------


def calendar_core(calendar: Calendar) -> str:
    days = _days(calendar)
    if calendar.hours is None or calendar.step is None:
        return f"{days} {'、'.join(clock(each) for each in calendar.at)}"
    window = f"{clock(calendar.hours.opens)} 至 {clock(calendar.hours.closes)} {_interval(calendar.step)}"
    if calendar.hours.days and calendar.unit == "day" and calendar.every == 1:
        # The days of the window are the days of the schedule.
        return f"{_in_months(calendar)}{_each_weekday(calendar.hours.days)} {window}"
    only = f"，限{_weekdays(calendar.hours.days)}" if calendar.hours.days else ""
    return f"{days}{only}，{window}"


def _days(calendar: Calendar) -> str:
    every = calendar.every
    match calendar.unit:
        case "day":
            return _in_months(calendar) + ("每天" if every == 1 else f"每 {every} 天")
        case "week":
            weekdays = cast("tuple[int, ...]", calendar.on)
            said = _each_weekday(weekdays) if every == 1 else f"每 {every} 周的{_weekdays(weekdays)}"
            return _in_months(calendar) + said
        case "month":
            days = _on_days(calendar.on)
            if every > 1:
                return f"{_in_months(calendar)}每 {every} 个月的{_spaced(days)}"
            return f"{_in_months(calendar)}{_spaced(days)}" if calendar.months else f"每月{_spaced(days)}"
        case "year":
            years = "每年" if every == 1 else f"每 {every} 年的"
            days = _on_days(calendar.on)
            plain = len(calendar.months) == 1 and days[0].isdigit()
            return f"{years} {_months(calendar.months)}{'' if plain else '的'}{_spaced(days)}"


def _spaced(text: str) -> str:
    """A blank stands between Chinese signs and digits, and nowhere else."""
    return f" {text}" if text[0].isdigit() else text


def _in_months(calendar: Calendar) -> str:
    return f"每逢 {_months(calendar.months)}的" if calendar.months else ""


def _each_weekday(weekdays: Sequence[int]) -> str:
    said = _weekdays(weekdays)
    return said if "至" in said and "、" not in said else f"每{said}"


def _weekdays(weekdays: Sequence[int]) -> str:
    said = []
    for first, last in runs(list(weekdays)):
        if last - first >= 2:
            said.append(f"{WEEKDAYS[first]}至{WEEKDAYS[last]}")
        else:
            said.extend(WEEKDAYS[day] for day in range(first, last + 1))
    return "、".join(said)


def _months(months: Sequence[int]) -> str:
    return "、".join(f"{month} 月" for month in months)


def _on_days(on: Sequence[On]) -> str:
    return "、".join(_on_day(each) for each in sorted(on, key=_from_first_to_last))


def _from_first_to_last(each: On) -> tuple[bool, bool, int]:
    number = each.nth if isinstance(each, NthWeekday) else each
    return isinstance(each, NthWeekday), number < 0, number


def _on_day(each: On) -> str:
    if isinstance(each, NthWeekday):
        return f"{_nth(each.nth)}个{WEEKDAYS[each.weekday]}"
    return f"{each} 日" if each > 0 else "最后一天" if each == -1 else f"倒数第 {-each} 天"


def _nth(number: int) -> str:
    if number > 0:
        return f"第 {number} "
    return "最后一" if number == -1 else f"倒数第 {-number} "
