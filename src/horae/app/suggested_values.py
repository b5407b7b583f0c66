"""The value of an option of another scheduler, written with the Horae option that means it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from ..schedule.durations import short_duration

_LONGEST: Final = 50
_MOMENTS: Final = "at run_at eta run_date defer_until _defer_until schedule_at"
_DELAYS: Final = "countdown delay defer_by _defer_by schedule_in"
_Write = Callable[[Any], str | None]


def write_with_value(name: str, value: object) -> str | None:
    """What to write for `name=value`; None where the value cannot be carried over."""
    write = _WRITE.get(name.lower())
    text = None if write is None else write(value)
    return text if text is not None and len(text) <= _LONGEST + len(name) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _retries(value: Any) -> str | None:
    return f"retries={value}" if _is_count(value) else None


def _attempts(value: Any) -> str | None:
    """The first attempt is no retry."""
    return f"retries={value - 1}" if _is_count(value) and value else None


def _length(value: Any) -> str | None:
    """Seconds or a `timedelta` as Horae spells a duration."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            value = timedelta(seconds=value)
        except (OverflowError, ValueError):
            return None
    return short_duration(value) if isinstance(value, timedelta) and value > timedelta(0) else None


def _backoff(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return f"retry=RetryPolicy(backoff=timedelta(seconds={value}))"


def write_moment(name: str, value: object) -> str | None:
    """The moment that `countdown=10` or `eta=…` means, as text in quotes."""
    if name in _DELAYS.split():
        interval = _length(value)
        return None if interval is None else f'"in {interval}"'
    if name not in _MOMENTS.split():
        return None
    if isinstance(value, datetime):
        value = value.isoformat(" ", "seconds" if value.second or value.microsecond else "minutes")
    return _text(value)


def _delay(value: Any) -> str | None:
    text = write_moment("delay", value)
    return None if text is None else f"later({text}, …) or schedule(f, {text}, …)"


def _moment(value: Any) -> str | None:
    text = write_moment("at", value)
    return None if text is None else f"schedule(f, {text}, …)"


def _schedule(value: Any) -> str | None:
    if isinstance(value, timedelta):
        interval = _length(value)
        value = None if interval is None else f"every {interval}"
    text = _text(value)
    return None if text is None else f"@app.task({text}) or app.schedule(f, {text})"


def _every(unit: str) -> _Write:
    def write(value: Any) -> str | None:
        return _schedule(f"every {value}{unit}") if _is_count(value) and value else None

    return write


def _text(value: Any) -> str | None:
    plain = isinstance(value, str) and value.strip() and value.isprintable() and not {'"', "\\"} & set(value)
    return f'"{value}"' if plain else None


def _as_text(option: str) -> _Write:
    def write(value: Any) -> str | None:
        text = _text(str(value) if _is_count(value) else value)
        return None if text is None else f"{option}={text}"

    return write


def _as_length(option: str, before: str = "") -> _Write:
    def write(value: Any) -> str | None:
        length = _length(value)
        return None if length is None else f'{option}="{before}{length}"'

    return write


def _as_mapping(option: str) -> _Write:
    def write(value: Any) -> str | None:
        return f"{option}={value!r}" if isinstance(value, dict) and value else None

    return write


def _named(names: str, write: _Write) -> dict[str, _Write]:
    return dict.fromkeys(names.split(), write)


_WRITE: Final[dict[str, _Write]] = {
    **_named("max_retries retry_count num_retries", _retries),
    **_named("max_attempts tries max_tries", _attempts),
    **_named("retry_delay default_retry_delay retry_delay_seconds", _backoff),
    **_named("cron crontab schedule trigger interval every when run_every", _schedule),
    **_named("seconds", _every("s")),
    **_named("minutes", _every("m")),
    **_named("hours", _every("h")),
    **_named("days", _every("d")),
    **_named(_MOMENTS, _moment),
    **_named(_DELAYS, _delay),
    **_named("tz timezone tzinfo time_zone", _as_text("zone")),
    **_named("queue queue_name", _as_text("lane")),
    **_named("misfire_grace_time grace_time", _as_length("missed", "latest within ")),
    **_named("id job_id task_id _job_id identifier idempotency_key dedupe_key", _as_text("key")),
    **_named("kwargs params parameters data input", _as_mapping("payload")),
    **_named("time_limit hard_time_limit max_runtime", _as_length("max_duration")),
    **_named("soft_time_limit job_timeout timeout_seconds time_out", _as_length("timeout")),
    **_named("metadata meta annotations", _as_mapping("labels")),
    **_named("task_name title", _as_text("name")),
    **_named("tenant user user_id account", _as_text("owner")),
}
