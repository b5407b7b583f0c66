"""`Retry-After`: seconds, or a date as HTTP writes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from ...model.policy import LONGEST_BACKOFF

_SOONEST: Final = timedelta(seconds=1)
"""An endpoint that says "at once" with every refusal must not be called in a circle."""


def retry_after(header: str | None, now: datetime) -> timedelta | None:
    """How long to wait; None where nothing understandable was said."""
    if header is None:
        return None
    wait = _seconds(header.strip()) or _until(header.strip(), now)
    return None if wait is None else min(max(wait, _SOONEST), LONGEST_BACKOFF)


def _seconds(text: str) -> timedelta | None:
    if not (text.isascii() and text.isdigit()):
        return None
    return LONGEST_BACKOFF if len(text) > 9 else max(_SOONEST, timedelta(seconds=int(text)))


def _until(text: str, now: datetime) -> timedelta | None:
    try:
        at = parsedate_to_datetime(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)) - now
    except (ValueError, TypeError, OverflowError):
        return None
