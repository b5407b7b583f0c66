"""Schedule linter: warnings about valid schedules that may surprise: clock changes (DST), skipped months, drift."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice, pairwise
from typing import Final, Literal

from ..choices import Fold, Gap
from .any_of import parts_of
from .calendar import Calendar
from .cron import Cron
from .cron_fields import Field
from .describe.chinese import describe_duration as duration_zh
from .describe.english import describe_duration as duration_en
from .describe.moments import MONTHS, join_with_and
from .evaluate import iterate
from .evaluate import next as next_after
from .every import Every
from .instants import SECOND, to_datetime, to_instant, wall_reading
from .once import Once
from .rrule import CountedRule, ExceptionsRule, RRule
from .rules import Rule, WallRule
from .value import Past, Schedule, last_instant
from .warnings import ScheduleWarning, make_bilingual_warning, make_warning, warn_note
from .zones import DATE_LINE_JUMP, Segment, find_zone

Effect = Literal["moved", "shifted", "dropped", "first", "last", "both", "flowing_gap", "flowing_fold"]


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A clock change whose gap or fold contains a wall time of the schedule."""

    instant: int
    effect: Effect
    wall: int  # the first wall time of the schedule in the gap or fold
    before: int  # the wall time right before and right after the change
    after: int
    runs_at: int | None  # the wall time at which a time in a gap runs instead


def find_clock_changes(rule: Rule, after: int, until: int) -> Iterator[ClockChange]:
    """Yield the changes in (after, until], in seconds; none for schedules that are not tied to a wall clock."""
    while isinstance(rule, ExceptionsRule | CountedRule):
        rule = rule.rule
    if not isinstance(rule, WallRule) or rule.has_constant_pace:
        return
    for segment in rule.zone.changes(after, until):
        wall = rule.pattern.next_local(_affected_range(segment).start - 1)
        if wall is not None and wall in _affected_range(segment):
            yield _describe_change(rule, segment, wall)


def _affected_range(segment: Segment) -> range:
    """The wall times that the change skips (gap) or repeats (fold)."""
    return segment.gap if segment.jump > 0 else range(segment.local_start, segment.local_start - segment.jump)


def _describe_change(rule: WallRule, segment: Segment, wall: int) -> ClockChange:
    effect = _fold_effect(rule) if segment.jump < 0 else _gap_effect(rule, segment)
    runs_at = {"moved": segment.local_start, "shifted": wall + segment.jump}.get(effect)
    before = segment.start + segment.offset - segment.jump
    return ClockChange(segment.start, effect, wall, before, segment.local_start, runs_at)


def _gap_effect(rule: WallRule, segment: Segment) -> Effect:
    if rule.flowing:
        return "flowing_gap"
    effects: dict[Gap, Effect] = {"next": "moved", "shift": "shifted", "skip": "dropped"}
    return "dropped" if segment.jump >= DATE_LINE_JUMP else effects[rule.gap]


def _fold_effect(rule: WallRule) -> Effect:
    effects: dict[Fold, Effect] = {"first": "first", "last": "last", "both": "both"}
    return "flowing_fold" if rule.flowing else effects[rule.fold]


TWO_YEARS: Final = timedelta(days=731)
_MAX_CHANGES: Final = 4
_CHECKED_FIRES: Final = 8
_DAY: Final = timedelta(days=1)
_MINUTE: Final = timedelta(minutes=1)


def lint(schedule: Schedule, now: datetime, *, notes: tuple[str, ...] = ()) -> list[ScheduleWarning]:
    """List the warnings for a schedule with a zone, created at `now`."""
    past = Past(anchor=now)
    warnings = [warn_note(note) for note in notes]
    for part in parts_of(schedule):
        warnings += _check_fields(part)
        warnings += _check_interval(part, now)
    warnings += _check_frequency(schedule, now, past)
    warnings += _check_clock_changes(schedule, now, past)
    if any(part.kind == "once" and next_after(part, now, past) is None for part in parts_of(schedule)):
        warnings.append(make_warning("in_the_past"))
    elif schedule.kind != "now" and next_after(schedule, now, past) is None:
        warnings.append(make_warning("nothing_left"))
    # Schedules of a list may have the same warning.
    return [each for number, each in enumerate(warnings) if each not in warnings[:number]]


# --- fields and days ---------------------------------------------------------------------------------------------


def _check_fields(schedule: Schedule) -> Iterator[ScheduleWarning]:
    match schedule:
        case Cron():
            yield from _check_cron(schedule)
        case Calendar():
            day = max((each for each in schedule.on if isinstance(each, int)), default=0)
            if (
                schedule.unit in ("month", "year")
                and day > 28
                and _find_short_months(day, set(schedule.months or range(1, 13)))
            ):
                yield make_warning("clamps", day=day)
        case RRule():
            rule = schedule.parsed
            if schedule.start is None and not (rule.by_hour and rule.by_minute and rule.by_second):
                yield make_warning("rule_anchor")
            yield from _check_days(set(rule.by_month_day), set(rule.by_month) or set(range(1, 13)))


_UNITS: Final = {
    "second": (60, "seconds", "minute", "秒", "分钟"),
    "minute": (60, "minutes", "hour", "分钟", "小时"),
    "hour": (24, "hours", "day", "小时", "天"),
    "month": (12, "months", "year", "个月", "年"),
    "weekday": (7, "days", "week", "天", "周"),
}


def _check_cron(schedule: Cron) -> Iterator[ScheduleWarning]:
    fields = schedule.fields
    for name in _UNITS:
        yield from _check_step(getattr(fields, name), name)
    if fields.day.text.startswith("*/") and fields.day.text != "*/1":
        yield make_warning("day_step", text=fields.day.text)
    if not fields.both_day_fields:
        days = f"{fields.day.text} / {fields.weekday.text}"
        yield make_warning("either_day", days=days)
    elif not fields.day.is_starred:
        yield from _check_days(set(fields.day.values), set(fields.month.values))


def _check_step(field: Field, name: str) -> Iterator[ScheduleWarning]:
    size, unit, period, unit_zh, period_zh = _UNITS[name]
    step = int(field.text[2:]) if field.text.startswith("*/") and field.text[2:].isdigit() else 1
    if size % step:
        rest = size % step
        yield make_bilingual_warning(
            "uneven_step",
            {"text": field.text, "step": step, "unit": unit, "period": period, "rest": f"{rest} {unit}"},
            {"text": field.text, "step": step, "unit": unit_zh, "period": period_zh, "rest": f"{rest} {unit_zh}"},
        )


def _check_days(days: set[int], months: set[int]) -> Iterator[ScheduleWarning]:
    for day in sorted(each for each in days if each > 28):
        short = _find_short_months(day, months)
        if day == 29 and months == {2}:
            yield make_warning("leap_years_only")
        elif short:
            names = {"months": join_with_and([MONTHS[month - 1] for month in short]), "day": day}
            yield make_bilingual_warning(
                "skips_months", names, {"months": "、".join(f"{month} 月" for month in short), "day": day}
            )


def _find_short_months(day: int, months: set[int]) -> list[int]:
    lengths = {2: 28, 4: 30, 6: 30, 9: 30, 11: 30}
    return [month for month in sorted(months) if lengths.get(month, 31) < day]


# --- frequency ---------------------------------------------------------------------------------------------------


def _check_frequency(schedule: Schedule, now: datetime, past: Past) -> Iterator[ScheduleWarning]:
    fires = list(islice(iterate(schedule, now, past), _CHECKED_FIRES))
    if any(later - earlier < _MINUTE for earlier, later in pairwise(fires)):
        yield make_warning("often")
    if schedule.jitter is not None and any(later - earlier < schedule.jitter for earlier, later in pairwise(fires)):
        yield make_warning("jitter_too_long")


def _check_interval(schedule: Schedule, now: datetime) -> Iterator[ScheduleWarning]:
    if not isinstance(schedule, Every):
        return
    if schedule.since == "end":
        yield make_warning("from_end")
    elif schedule.start is None:
        yield make_warning("anchored")
    begin = to_instant(now) // SECOND
    changes = find_zone(schedule.zone or "UTC").changes(begin, begin + int(TWO_YEARS.total_seconds()))
    if schedule.interval % _DAY == timedelta(0) and schedule.since == "grid" and any(True for _ in changes):
        yield make_bilingual_warning(
            "drifts", {"interval": duration_en(schedule.interval)}, {"interval": duration_zh(schedule.interval)}
        )


# --- clock changes -----------------------------------------------------------------------------------------------


def _check_clock_changes(schedule: Schedule, now: datetime, past: Past) -> Iterator[ScheduleWarning]:
    changes = list(clock_change_warnings(schedule, now, now + TWO_YEARS, past))
    yield from (warning for _, warning in changes[:_MAX_CHANGES])
    if len(changes) > _MAX_CHANGES:
        yield make_warning("more_changes", count=len(changes) - _MAX_CHANGES)


def clock_change_warnings(
    schedule: Schedule, after: datetime, until: datetime, past: Past
) -> Iterator[tuple[datetime, ScheduleWarning]]:
    """Yield the clock changes in (after, until] that a wall time of the schedule falls into: instant and warning."""
    for change in schedule_clock_changes(schedule, after, until, past):
        yield to_datetime(change.instant * SECOND), _change_warning(change)


def schedule_clock_changes(schedule: Schedule, after: datetime, until: datetime, past: Past) -> Iterator[ClockChange]:
    """Yield the clock changes in (after, until] that affect a schedule, or a schedule of a list, in order."""
    if schedule.zone is None:
        return
    begin, end = to_instant(after) // SECOND, to_instant(until) // SECOND
    if schedule.end is not None:
        # A change after the end of the schedule does not affect it.
        end = min(end, last_instant(schedule.end, find_zone(schedule.zone)) // SECOND)
    found = [find_clock_changes(_wall_rule(part, past), begin, end) for part in parts_of(schedule)]
    previous = None
    for change in merge(*found, key=lambda each: (each.instant, each.wall)):
        if change != previous:
            yield change
        previous = change


def _wall_rule(schedule: Schedule, past: Past) -> Rule:
    setting = schedule.setting()
    return schedule.wall_rule(setting) if isinstance(schedule, Once) else schedule.rule(setting, past)


def _change_warning(change: ClockChange) -> ScheduleWarning:
    codes = {
        "moved": "gap_moved",
        "shifted": "gap_shifted",
        "dropped": "gap_dropped",
        "first": "fold_first",
        "last": "fold_last",
        "both": "fold_both",
        "flowing_gap": "gap_flowing",
        "flowing_fold": "fold_flowing",
    }
    return make_warning(
        codes[change.effect],
        date=f"{wall_reading(change.wall):%Y-%m-%d}",
        before=_format_clock(change.before, change.wall),
        after=_format_clock(change.after, change.wall),
        wall=_format_clock(change.wall, change.wall),
        runs_at="" if change.runs_at is None else _format_clock(change.runs_at, change.wall),
    )


def _format_clock(wall: int, reference: int) -> str:
    """Format a time of day, with its date if that differs from the date of `reference`."""
    reading = wall_reading(wall)
    shape = "%H:%M:%S" if reading.second else "%H:%M"
    return f"{reading:{shape}}" if wall // 86_400 == reference // 86_400 else f"{reading:%Y-%m-%d {shape}}"
