"""Parser for one past or future moment in a question, in English or Chinese: `yesterday at 9am`, `昨天早上9点`, `5m ago`."""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from ...errors import InvalidSchedule
from ..canonical import read_moment
from ..durations import parse_spoken_duration
from ..instants import SECOND, to_datetime, to_instant, wall_reading
from ..value import first_instant, is_wall, last_instant
from ..zones import find_zone
from .clock_words import DayPart
from .dates import ComingWeekday, LatestWeekday, MomentWords, MonthDay, to_date
from .parse import has_chinese, normalize_characters, read_draft

MAX_MOMENT_LENGTH: Final = 200
"""Maximum length in characters; bounds the parsing time."""
_DAYS_AGO: Final = {"today": 0, "yesterday": 1, "tomorrow": -1, "今天": 0, "昨天": 1, "前天": 2, "明天": -1, "后天": -2}
_NOW: Final = ("now", "现在")
_AGO: Final = re.compile(r"(.+?)\s+ago|(.+?)\s*(?:之前|以前|前)")
_UNIT: Final = r"(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
_LENGTH: Final = re.compile(rf"(?:\d{{1,9}}(?:\.\d{{1,3}})?{_UNIT})+", re.ASCII)
_CHINESE_UNITS: Final = (
    ("个", ""),
    ("毫秒", "ms"),
    ("分钟", "m"),
    ("小时", "h"),
    ("星期", "w"),
    *zip("秒分天周", "smdw", strict=True),
)
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_PART_HOURS: Final[dict[DayPart, tuple[int, int]]] = {
    "small_hours": (0, 6),
    "morning": (5, 12),
    "noon": (11, 14),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (19, 24),
}
"""First hour and end hour of a part of the day without a time, such as `this morning` or `昨晚`."""
_FORWARDED_REFUSALS: Final = frozenset({"ambiguous_hour"})
"""Refusals that are passed on, since they say more than that the moment is not understood."""
_MICROSECOND: Final = timedelta(microseconds=1)


class TimeSpan(NamedTuple):
    """A time span, both ends included; for an instant they are equal."""

    first: datetime
    last: datetime

    @property
    def exact(self) -> bool:
        return self.first == self.last


def read_time_span(text: str, zone: str, now: datetime) -> TimeSpan | None:
    """The instant or the span of a day that `text` names in `zone`; None where it names none.

    An hour that could be morning or evening is refused with both choices.
    """
    return _read_checked(text, zone, now, in_words=True)


def read_exact_time_span(text: str, zone: str, now: datetime) -> TimeSpan | None:
    """Like `read_time_span`, without phrases of the schedule language: ISO 8601, `02:00`, `yesterday 02:00`, `5m ago`."""
    return _read_checked(text, zone, now, in_words=False)


def _read_checked(text: str, zone: str, now: datetime, *, in_words: bool) -> TimeSpan | None:
    if len(text) > MAX_MOMENT_LENGTH:
        return None
    try:
        span = _read_exact(text, zone, now)
        if span is None and in_words and not _AGO.fullmatch(text.strip().lower()):
            span = _read_words(text, zone, now)
    except InvalidSchedule as refusal:
        if refusal.code in _FORWARDED_REFUSALS:
            raise refusal.located(text) from None
        return None
    except (OverflowError, ValueError):
        return None
    # Later computations need a margin at both ends of the calendar.
    is_countable = span is not None and span.first.year > MINYEAR and span.last.year < MAXYEAR
    return span if is_countable else None


def _read_exact(text: str, zone: str, now: datetime) -> TimeSpan | None:
    lowered = text.strip().lower()
    if lowered in _NOW:
        return TimeSpan(now, now)
    day, _, rest = lowered.partition(" ")
    clock = rest.strip()
    if day in _DAYS_AGO and (not clock or _TIME.fullmatch(clock)):
        return _span_on(_today(zone, now) - timedelta(days=_DAYS_AGO[day]), _clock_time(clock), zone)
    if _TIME.fullmatch(lowered):
        return _span_on(_today(zone, now), _clock_time(lowered), zone)
    if ago := _AGO.fullmatch(lowered):
        length = _parse_length(ago.group(1) or ago.group(2))
        return None if length is None else TimeSpan(now - length, now - length)
    moment = read_moment(text.strip())
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        return _span_on(moment, None, zone)
    at = _to_instant(moment, zone)
    return TimeSpan(at, at)


def _clock_time(clock: str) -> time | None:
    match = _TIME.fullmatch(clock)
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups())
    return time(hour, minute, second)


def _parse_length(text: str) -> timedelta | None:
    """`5m`, `1 h 30 m`, `2 hours`, `5分钟`."""
    for chinese, short in _CHINESE_UNITS:
        text = text.replace(chinese, short)
    text = "".join(text.split())
    return parse_spoken_duration(text, 0) if _LENGTH.fullmatch(text) else None


def _read_words(text: str, zone: str, now: datetime) -> TimeSpan | None:
    normalized = normalize_characters(text)
    words = _moment_words(normalized)
    return _read_delay(normalized, now) if words is None else _resolve_words(words, words.zone or zone, now)


def _moment_words(normalized: str) -> MomentWords | None:
    """Parse with the grammar of the language, imported on first use."""
    if has_chinese(normalized):
        from .chinese_days import read_chinese_moment  # noqa: PLC0415

        return read_chinese_moment(normalized)
    from .english_days import read_english_moment  # noqa: PLC0415

    return read_english_moment(normalized)


def _read_delay(normalized: str, now: datetime) -> TimeSpan | None:
    """`in 20m`, `20分钟后`."""
    draft = read_draft(normalized)
    if draft.delay is None or draft.filled() != {"delay"}:
        return None
    return TimeSpan(now + draft.delay, now + draft.delay)


def _resolve_words(words: MomentWords, zone: str, now: datetime) -> TimeSpan | None:
    day = _resolve_date(words, _wall_now(zone, now))
    if words.at is not None and words.offset is not None:
        at = datetime.combine(day, words.at, tzinfo=UTC) - words.offset
        return TimeSpan(at, at) if isinstance(words.day, date) else None
    if words.at is None and words.part is not None:
        begin, end = _PART_HOURS[words.part]
        after = datetime.combine(day, time()) + timedelta(hours=end)
        return TimeSpan(_to_instant(datetime.combine(day, time(begin)), zone), _to_instant(after, zone) - _MICROSECOND)
    return _span_on(day, words.at, zone)


def _resolve_date(words: MomentWords, wall_now: datetime) -> date:
    """A weekday, or a day without a year, is the last one that has come; a bare time is today's."""
    today = wall_now.date()
    if not isinstance(words.day, ComingWeekday | MonthDay):
        return today if words.day is None else to_date(words.day, today)
    is_to_come = words.at is not None and words.at > wall_now.time()
    latest = today - timedelta(days=1) if is_to_come else today
    if isinstance(words.day, ComingWeekday):
        return to_date(LatestWeekday(words.day.weekday), latest + timedelta(days=1))
    return _latest_month_day(words.day, latest)


def _latest_month_day(month_day: MonthDay, latest: date) -> date:
    """29 February is that of the last leap year."""
    for year in range(latest.year, latest.year - 9, -1):
        try:
            candidate = date(year, month_day.month, month_day.day)
        except ValueError:
            continue
        if candidate <= latest:
            return candidate
    raise ValueError(month_day)


def _today(zone: str, now: datetime) -> date:
    return _wall_now(zone, now).date()


def _wall_now(zone: str, now: datetime) -> datetime:
    second = to_instant(now) // SECOND
    return wall_reading(second + find_zone(zone).offset(second))


def _span_on(day: date, at: time | None, zone: str) -> TimeSpan:
    if at is None:
        return TimeSpan(_to_instant(day, zone), to_datetime(last_instant(day, find_zone(zone))).astimezone(UTC))
    instant = _to_instant(datetime.combine(day, at), zone)
    return TimeSpan(instant, instant)


def _to_instant(moment: date | datetime, zone: str) -> datetime:
    return to_datetime(first_instant(moment, find_zone(zone if is_wall(moment) else "UTC"))).astimezone(UTC)
