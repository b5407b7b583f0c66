"""Parsing of times in queries: past or present instants and days, and instants to come."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ...errors import InvalidSchedule, InvalidTask
from ...model.refusals import refuse
from ...refusal_catalogue import RefusalEntry, build_refusal
from ...schedule import Once, Past
from ...schedule import next as next_of
from ...schedule.text import parse_text
from ...schedule.text.moment import TimeSpan, read_exact_time_span, read_time_span

_COMING: Final = RefusalEntry(
    InvalidTask,
    "'{value}' is not a moment that is still to come.",
    "Say it like 2099-12-01T09:00Z, '2099-12-01 09:00', 2099-12-01, tomorrow, 'tomorrow at 9am', 'next Monday 18:00', or 'in 2h'.",
    "“{value}”不是将来的时刻。",
    "可以写成 2099-12-01T09:00Z、“2099-12-01 09:00”、2099-12-01、明天、“明天早上9点”、“下周一18:00”,或“2小时后”。",
)
"""The sentences of `unclear_moment` where a moment to come is meant."""

__all__ = ["TimeSpan", "parse_future_instant", "parse_span"]


def parse_span(text: str | datetime, zone: str, now: datetime) -> TimeSpan:
    """Parse an instant or a day, past ones included, in the given zone.

    Accepts `2026-11-15T02:00Z`, `2026-11-15`, `02:00`, `now`, `5m ago`, and the words of a one-time schedule: `today at
    9am`, `yesterday`, `last Monday 18:00`, `昨天早上9点`.
    """
    if isinstance(text, datetime):
        if text.tzinfo is None:
            raise refuse("naive_instant", value=text)
        return TimeSpan(text.astimezone(UTC), text.astimezone(UTC))
    span = read_time_span(text, zone, now)
    if span is None:
        raise refuse("unclear_moment", value=text)
    return span


def parse_future_instant(text: str, zone: str, now: datetime) -> datetime:
    """Parse an instant to come: `2026-12-01`, `tomorrow at 9am`, `in 2h`, `明天早上9点`."""
    span = read_exact_time_span(text, zone, now)
    if span is not None:
        return span.first
    unclear = build_refusal("unclear_moment", _COMING, {"value": text})
    try:
        schedule = parse_text(text, zone=zone, now=now).schedule
    except InvalidSchedule:
        raise unclear from None
    instant = next_of(schedule, now, Past(anchor=now)) if isinstance(schedule, Once) else None
    if instant is None:
        raise unclear
    return instant
