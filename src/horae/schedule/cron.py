"""The `cron` schedule: five fields, or six with seconds first, evaluated on the wall clock of a zone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, Final

from .cron_fields import CronFields, Field, normalize, parse_fields
from .days import EVERY_WEEKDAY, Days, Weekly, make_monthly, nearest_working_day, nth_weekday, weekday_days
from .refusals import refuse
from .rules import Rule, WallRule, make_periodic_rule
from .value import Past, Schedule, Setting, check_type
from .wall import DaysAndTimes, TimesOfDay, periodic_offsets

_EVERY_DAY: Final = frozenset(range(1, 32))
_EVERY_MONTH: Final = frozenset(range(1, 13))


@dataclass(frozen=True, slots=True)
class CompiledCron:
    """A compiled expression, shared between equal texts; `table` is set where it repeats weekly or faster."""

    pattern: DaysAndTimes
    table: tuple[int, tuple[int, ...]] | None
    flowing: bool


@dataclass(frozen=True, slots=True)
class Cron(Schedule):
    kind: ClassVar[str] = "cron"
    expression: str

    def __post_init__(self) -> None:
        check_type("expression", self.expression, str, "a cron expression")
        compile_cron(self.expression)
        object.__setattr__(self, "expression", normalize(self.expression))
        Schedule.__post_init__(self)

    @property
    def fields(self) -> CronFields:
        return parse_fields(self.expression)

    def rule(self, setting: Setting, past: Past) -> Rule:  # noqa: ARG002 - a cron expression has no past
        return self.wall_rule(setting)

    def wall_rule(self, setting: Setting) -> WallRule:
        return self.cached(setting, partial(_make_rule, self.expression, setting))


def _make_rule(expression: str, setting: Setting) -> WallRule:
    planned = compile_cron(expression)
    zone = setting.require_zone()
    if planned.table is None:
        return WallRule(zone, planned.pattern, setting.gap, setting.fold, flowing=planned.flowing)
    return make_periodic_rule(zone, planned.pattern, setting.gap, setting.fold, planned.table, flowing=planned.flowing)


@lru_cache(maxsize=1024)
def compile_cron(expression: str) -> CompiledCron:
    """Compile an expression (cached); refuses one that is malformed or never matches."""
    fields = parse_fields(expression if not expression.lstrip().startswith("@") else normalize(expression))
    times = _make_times(fields)
    days = _make_days(fields)
    if days is None:
        raise refuse("never", expression=" ".join(expression.split()))
    table = periodic_offsets(days.weekdays, times) if isinstance(days, Weekly) else None
    return CompiledCron(DaysAndTimes(days, times), table, fields.flowing)


def _make_times(fields: CronFields) -> TimesOfDay:
    minutes = tuple(
        hour * 60 + minute for hour in sorted(fields.hour.values) for minute in sorted(fields.minute.values)
    )
    return TimesOfDay(minutes, tuple(sorted(fields.second.values)))


def _make_days(fields: CronFields) -> Days | None:
    every_month = fields.month.values == _EVERY_MONTH
    weekdays = weekday_mask(fields.weekday.values)
    if every_month and fields.day.values == _EVERY_DAY and not fields.both_day_fields:
        return Weekly(EVERY_WEEKDAY)
    if every_month and fields.day.values == _EVERY_DAY and not (fields.weekday.nth or fields.weekday.last_weekdays):
        return Weekly(weekdays)
    months = sum(1 << month for month in fields.month.values)
    return make_monthly(months, partial(_matching_days, fields.day, fields.weekday, both=fields.both_day_fields))


def weekday_mask(cron_weekdays: frozenset[int]) -> int:
    """Convert cron weekdays (Sunday = 0) to a bit mask with Monday as bit 0."""
    return sum(1 << (weekday - 1) % 7 for weekday in cron_weekdays)


def _matching_days(day: Field, weekday: Field, weekday_of_first: int, length: int, *, both: bool) -> int:
    by_day = _days_by_number(day, weekday_of_first, length)
    by_weekday = _days_by_weekday(weekday, weekday_of_first, length)
    return by_day & by_weekday if both else by_day | by_weekday


def _days_by_number(field: Field, weekday_of_first: int, length: int) -> int:
    mask = sum(1 << day for day in field.values if day <= length)
    if field.last:
        mask |= 1 << length
    for days in field.before_last:
        mask |= 1 << length - days if days < length else 0
    if field.last_working:
        mask |= nearest_working_day(weekday_of_first, length, length)
    for day in field.nearest_working:
        mask |= nearest_working_day(weekday_of_first, length, day)
    return mask


def _days_by_weekday(field: Field, weekday_of_first: int, length: int) -> int:
    mask = weekday_days(weekday_of_first, length, weekday_mask(field.values))
    for weekday, nth in field.nth:
        mask |= nth_weekday(weekday_of_first, length, (weekday - 1) % 7, nth)
    for weekday in field.last_weekdays:
        mask |= nth_weekday(weekday_of_first, length, (weekday - 1) % 7, -1)
    return mask
