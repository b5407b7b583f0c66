"""Parses the `Retry-After` header: seconds, or an HTTP date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from ...model.policy import MAX_BACKOFF

_MIN_DELAY: Final = timedelta(seconds=1)
"""Keeps an endpoint that always answers "retry at once" from causing a busy loop."""


def parse_retry_after(header: str | None, now: datetime) -> timedelta | None:
    """Return the delay, from one second to the longest back-off; None for a missing or invalid header."""
    if header is None:
        return None
    delay = _parse_seconds(header.strip()) or _parse_date(header.strip(), now)
    return None if delay is None else min(max(delay, _MIN_DELAY), MAX_BACKOFF)


def _parse_seconds(text: str) -> timedelta | None:
    if not (text.isascii() and text.isdigit()):
        return None
    return MAX_BACKOFF if len(text) > 9 else max(_MIN_DELAY, timedelta(seconds=int(text)))


def _parse_date(text: str, now: datetime) -> timedelta | None:
    try:
        at = parsedate_to_datetime(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
    except (ValueError, TypeError, OverflowError):
        return None
