"""What a function may raise to say how its run ends. These are verdicts, not errors of Horae."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_LONGEST: Final = timedelta(days=30)


class Retry(Exception):  # noqa: N818 - a verdict
    """Not this time: try again, by the task's retry policy or after so long (seconds, a timedelta or "90s")."""

    def __init__(self, after: float | str | timedelta | None = None, reason: str = "") -> None:
        super().__init__(reason)
        self.after = None if after is None else _duration(after)
        self.reason = reason


class Skip(Exception):  # noqa: N818 - a verdict
    """There was nothing to do: neither a success nor a failure."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Fail(Exception):  # noqa: N818 - a verdict
    """It failed, and trying again would not help."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


def _duration(after: float | str | timedelta) -> timedelta:
    if isinstance(after, str):
        from ...schedule.durations import parse_duration  # noqa: PLC0415 - slow to load in a child process

        after = parse_duration(after)
    length = after if isinstance(after, timedelta) else timedelta(seconds=after)
    if not timedelta(0) <= length <= _LONGEST:
        raise ValueError(f"Retry(after=…) must be between 0 seconds and {_LONGEST.days} days, not {after!r}")
    return length
