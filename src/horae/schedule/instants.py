"""Conversion between aware datetimes and integer instants: microseconds (or seconds) since 1970-01-01T00:00Z."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from .refusals import refuse

SECOND: Final = 1_000_000
DAY: Final = 86_400
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

# Two days inside the range of datetime, so that no zone's offset can overflow it.
FIRST_INSTANT: Final = int((datetime(1, 1, 3, tzinfo=UTC) - EPOCH).total_seconds()) * SECOND
LAST_INSTANT: Final = int((datetime(9999, 12, 29, tzinfo=UTC) - EPOCH).total_seconds()) * SECOND


def to_instant(moment: datetime) -> int:
    """Microseconds of an aware datetime, exact: floats would round the last microsecond of a far year."""
    if not isinstance(moment, datetime):
        raise refuse("not_a_datetime", name="instant", value=type(moment).__name__)
    if moment.tzinfo is None:
        raise refuse("naive_instant", moment=moment.isoformat())
    return (moment - EPOCH) // _MICROSECOND


def to_datetime(instant: int) -> datetime:
    return EPOCH + timedelta(microseconds=instant)


def wall_reading(local: int) -> datetime:
    """The naive datetime that a wall clock shows at `local` seconds."""
    return datetime(1970, 1, 1) + timedelta(seconds=local)  # noqa: DTZ001 - a wall clock has no zone


def wall_seconds(reading: datetime) -> int:
    """The inverse of `wall_reading`; fractions of a second are floored."""
    return (reading.toordinal() - 719_163) * DAY + reading.hour * 3600 + reading.minute * 60 + reading.second
