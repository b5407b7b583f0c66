"""The `rrule` schedule: an RFC 5545 recurrence rule from a start, with excluded dates."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import ClassVar, Final

from ..choices import Gap
from ..errors import InvalidSchedule
from .days import day_number, to_calendar_date
from .instants import DAY, SECOND, to_instant, wall_seconds
from .recurrence import Frequency, RulePattern, parse_rule
from .recurrence import Rule as RecurrenceRule
from .recurrence.pattern import is_too_costly
from .refusals import refuse
from .rules import Rule, WallRule
from .value import Moment, Past, Schedule, Setting, check_moment, check_type, first_instant, is_wall
from .zones import find_zone

MAX_EXCEPTIONS: Final = 1000
_TWO_DAYS: Final = 2 * DAY  # more than any offset from UTC


@dataclass(frozen=True, slots=True)
class RRule(Schedule):
    """A `start` that does not match the rule is no occurrence; without one the anchor is the start."""

    kind: ClassVar[str] = "rrule"
    recurrence: str
    exclude: tuple[Moment, ...] = ()
    gap: Gap | None = field(default="skip", kw_only=True)

    def __post_init__(self) -> None:
        check_type("rule", self.recurrence, str, "a recurrence rule")
        check_type("exclude", self.exclude, (tuple, list), "dates")
        object.__setattr__(self, "recurrence", parse_rule(self.recurrence).text)
        object.__setattr__(self, "gap", self.gap or "skip")
        if isinstance(self.start, datetime):
            # Rules have a resolution of one second.
            object.__setattr__(self, "start", self.start.replace(microsecond=0))
        if len(self.exclude) > MAX_EXCEPTIONS:
            raise refuse("too_many", times=MAX_EXCEPTIONS, dates=MAX_EXCEPTIONS)
        for moment in self.exclude:
            check_moment(moment)
        object.__setattr__(self, "exclude", tuple(sorted({_to_utc(each) for each in self.exclude}, key=str)))
        Schedule.__post_init__(self)
        if self.start is not None and is_wall(self.start):
            _pattern(self.parsed, _to_wall_seconds(self.start))
        elif self.start is None:
            _refuse_if_never(self.parsed)
        self._refuse_if_costly()

    def _refuse_if_costly(self) -> None:
        """Refuse a rule whose COUNT or exclusions need too many expensive steps."""
        times = max(self.parsed.count or 0, len(self.exclude))
        if self.start is not None:
            starts = [_to_wall_seconds(self.start)]
        else:
            starts = [each for each in _SAMPLE_STARTS if self._can_start(each)][:1]
        if times and any(_is_too_costly(self.parsed, start, times) for start in starts):
            raise refuse("rrule_too_costly", times=times)

    def _can_start(self, start: int) -> bool:
        try:
            _pattern(self.parsed, start)
        except InvalidSchedule:
            return False
        return True

    @property
    def parsed(self) -> RecurrenceRule:
        return self.cached("parsed", partial(parse_rule, self.recurrence))

    def rule(self, setting: Setting, past: Past) -> Rule:
        start = self._start_local(setting, past)
        return self.cached((setting, start), partial(_make_rule, self, setting, start))

    def _start_local(self, setting: Setting, past: Past) -> int:
        if self.start is not None and is_wall(self.start):
            return _to_wall_seconds(self.start)
        # Without a start the rule begins with the first whole second after creation.
        start_second = self.first_second(setting)
        instant = -(-to_instant(past.anchor) // SECOND) if start_second is None else start_second
        return instant + setting.require_zone().offset(instant)

    def first_second(self, setting: Setting) -> int | None:
        if self.start is None:
            return None
        zone = setting.require_zone() if is_wall(self.start) else find_zone("UTC")
        return first_instant(self.start, zone) // SECOND


# A value is often rebuilt with its zone filled in, so its compiled pattern is cached.
_pattern = lru_cache(maxsize=256)(RulePattern)
_is_too_costly = lru_cache(maxsize=256)(is_too_costly)

# A leap day, a Monday in the middle of an odd year, and a year's end: starts that imply different parts of a rule.
_SAMPLE_STARTS: Final = tuple(
    wall_seconds(each)
    for each in (datetime(2024, 2, 29), datetime(2025, 7, 7, 13, 37, 1), datetime(2026, 12, 31, 23, 59, 59))  # noqa: DTZ001
)


def _refuse_if_never(rule: RecurrenceRule) -> None:
    """Refuse a rule without a start if it matches from no sample start; its interval is ignored, since it depends on the start."""
    unlimited = replace(rule, interval=1, until=None, count=None)
    refusals = []
    for start in _SAMPLE_STARTS:
        try:
            _pattern(unlimited, start)
        except InvalidSchedule as refusal:
            refusals.append(refusal)
    if len(refusals) == len(_SAMPLE_STARTS):
        raise refusals[0]


def refuse_endless_rule(schedule: Schedule, bounds: Schedule) -> None:
    """Refuse a FREQ=SECONDLY rule without an end; `bounds` has the window and the repeat limit that apply to it."""
    if not isinstance(schedule, RRule) or schedule.parsed.freq is not Frequency.SECONDLY:
        return
    ends = (schedule.parsed.count, schedule.parsed.until, bounds.end, bounds.repeat)
    if all(each is None for each in ends):
        raise refuse("rrule_endless_seconds")


def _to_utc(moment: Moment) -> Moment:
    is_aware = isinstance(moment, datetime) and moment.tzinfo is not None
    return moment.astimezone(UTC) if isinstance(moment, datetime) and is_aware else moment


def _to_wall_seconds(start: Moment) -> int:
    return wall_seconds(start) if isinstance(start, datetime) else day_number(start) * DAY


def _make_rule(schedule: RRule, setting: Setting, start: int) -> Rule:
    rule = schedule.parsed
    wall_rule: Rule = WallRule(
        setting.require_zone(), _pattern(rule, start), setting.gap, setting.fold, flowing=rule.flowing
    )
    if rule.count is not None:
        opens = schedule.first_second(setting)
        wall_rule = CountedRule(wall_rule, rule.count, (start - _TWO_DAYS if opens is None else opens) * SECOND - 1)
    last = to_instant(rule.until) if isinstance(rule.until, datetime) and rule.until.tzinfo is not None else None
    if last is None and not schedule.exclude:
        return wall_rule
    return ExceptionsRule(wall_rule, last, _Exceptions.of(schedule.exclude, setting))


class CountedRule:
    """The first `count` occurrences of a rule; as in RFC 5545, occurrences dropped by a clock change do not count.

    Occurrences are computed in order and on demand; the list is replaced, never changed, so that concurrent threads may
    repeat work but never see a partial result.
    """

    __slots__ = ("_begin", "_count", "_known", "rule")

    def __init__(self, rule: Rule, count: int, begin: int) -> None:
        self.rule = rule
        self._count = count
        self._begin = begin
        self._known: tuple[int, ...] = ()

    def after(self, instant: int) -> int | None:
        known = self._known_through(instant)
        index = bisect_right(known, instant)
        return known[index] if index < len(known) else None

    def count(self, after: int, until: int) -> int | None:
        known = self._known_through(until)
        return max(0, bisect_right(known, until) - bisect_right(known, after))

    def _known_through(self, instant: int) -> tuple[int, ...]:
        """All known occurrences, extended to at least one after `instant` if there is one."""
        known = list(self._known)
        # Grow by a quarter, so that iterating does not copy the list at every step.
        target_length = len(known) + len(known) // 4 + 1
        while len(known) < self._count and (
            not known or known[-1] <= instant or len(self._known) < len(known) < target_length
        ):
            following = self.rule.after(known[-1] if known else self._begin)
            if following is None:
                self._count = len(known)
                break
            known.append(following)
        extended = tuple(known)
        if len(extended) > len(self._known):
            self._known = extended
        return extended


@dataclass(frozen=True, slots=True)
class _Exceptions:
    """Excluded dates, wall times and instants."""

    setting: Setting
    days: frozenset[int]
    walls: frozenset[int]
    instants: frozenset[int]

    @classmethod
    def of(cls, moments: tuple[Moment, ...], setting: Setting) -> _Exceptions:
        walls = [each for each in moments if isinstance(each, datetime) and each.tzinfo is None]
        instants = [each for each in moments if isinstance(each, datetime) and each.tzinfo is not None]
        days = [each for each in moments if not isinstance(each, datetime)]
        return cls(
            setting,
            frozenset(day_number(each) for each in days),
            frozenset(wall_seconds(each) for each in walls),
            frozenset(to_instant(each) for each in instants),
        )

    def hold(self, instant: int) -> bool:
        local = self._local(instant)
        return instant in self.instants or local in self.walls or local // DAY in self.days

    def end_of_day(self, instant: int) -> int:
        """The instant from which to continue: the end of an excluded day, else `instant` itself."""
        day = self._local(instant) // DAY
        if day not in self.days:
            return instant
        zone = self.setting.require_zone()
        # A clock that goes back at midnight repeats the end of the day, so stop at the change.
        end = min(first_instant(to_calendar_date(day + 1), zone) - 1, zone.segment(instant // SECOND).end * SECOND - 1)
        return max(instant, end)

    def _local(self, instant: int) -> int:
        second = instant // SECOND
        return second + self.setting.require_zone().offset(second)


@dataclass(frozen=True, slots=True)
class ExceptionsRule:
    """A rule with a last instant and exceptions; excluded occurrences still count towards COUNT."""

    rule: Rule
    last: int | None
    exceptions: _Exceptions

    def after(self, instant: int) -> int | None:
        occurrence = self.rule.after(instant)
        while occurrence is not None and (self.last is None or occurrence <= self.last):
            if not self.exceptions.hold(occurrence):
                return occurrence
            occurrence = self.rule.after(self.exceptions.end_of_day(occurrence))
        return None

    def count(self, after: int, until: int) -> int | None:  # noqa: ARG002 - exceptions can only be found by iterating
        return None
