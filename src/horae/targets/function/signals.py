"""Exceptions with which a function chooses how its run ends: `Retry`, `Skip` and `Fail`."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_MAX_DELAY: Final = timedelta(days=30)


class Retry(Exception):  # noqa: N818 - a verdict
    """Fail this attempt and retry, by the task's retry policy or after a delay (seconds, a timedelta or "90s")."""

    def __init__(self, after: float | str | timedelta | None = None, reason: str = "") -> None:
        super().__init__(reason)
        self.after = None if after is None else _duration(after)
        self.reason = reason


class Skip(Exception):  # noqa: N818 - a verdict
    """End the run as skipped: neither a success nor a failure."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Fail(Exception):  # noqa: N818 - a verdict
    """Fail permanently, without a retry."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


def _duration(after: float | str | timedelta) -> timedelta:
    if isinstance(after, str):
        from ...schedule.durations import parse_duration  # noqa: PLC0415 - slow to load in a child process

        after = parse_duration(after)
    length = after if isinstance(after, timedelta) else timedelta(seconds=after)
    if not timedelta(0) <= length <= _MAX_DELAY:
        raise ValueError(f"Retry(after=…) must be between 0 seconds and {_MAX_DELAY.days} days, not {after!r}")
    return length
