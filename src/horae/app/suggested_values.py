"""Translates option values of other schedulers (`countdown=10`, `max_retries=3`) to Horae options, for suggestions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from ..schedule.durations import format_short_duration

_MAX_LENGTH: Final = 50
_MOMENTS: Final = "at run_at eta run_date defer_until _defer_until schedule_at"
_DELAYS: Final = "countdown delay defer_by _defer_by schedule_in"
_Writer = Callable[[Any], str | None]


def write_with_value(name: str, value: object) -> str | None:
    """Return the Horae spelling of `name=value`; None where the value cannot be translated."""
    write = _WRITERS.get(name.lower())
    text = None if write is None else write(value)
    return text if text is not None and len(text) <= _MAX_LENGTH + len(name) else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _retries(value: Any) -> str | None:
    return f"retries={value}" if _is_count(value) else None


def _attempts(value: Any) -> str | None:
    """Convert attempts to retries: the first attempt is not a retry."""
    return f"retries={value - 1}" if _is_count(value) and value else None


def _duration(value: Any) -> str | None:
    """Format seconds or a `timedelta` as a duration; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            value = timedelta(seconds=value)
        except (OverflowError, ValueError):
            return None
    return format_short_duration(value) if isinstance(value, timedelta) and value > timedelta(0) else None


def _backoff(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return f"retry=RetryPolicy(backoff=timedelta(seconds={value}))"


def write_moment(name: str, value: object) -> str | None:
    """Return the moment that `countdown=10` or `eta=…` means, as quoted text; None where it cannot be translated."""
    if name in _DELAYS.split():
        interval = _duration(value)
        return None if interval is None else f'"in {interval}"'
    if name not in _MOMENTS.split():
        return None
    if isinstance(value, datetime):
        value = value.isoformat(" ", "seconds" if value.second or value.microsecond else "minutes")
    return _quote(value)


def _delay(value: Any) -> str | None:
    text = write_moment("delay", value)
    return None if text is None else f"later({text}, …) or schedule(f, {text}, …)"


def _moment(value: Any) -> str | None:
    text = write_moment("at", value)
    return None if text is None else f"schedule(f, {text}, …)"


def _schedule(value: Any) -> str | None:
    if isinstance(value, timedelta):
        interval = _duration(value)
        value = None if interval is None else f"every {interval}"
    text = _quote(value)
    return None if text is None else f"@app.task({text}) or app.schedule(f, {text})"


def _every(unit: str) -> _Writer:
    def write(value: Any) -> str | None:
        return _schedule(f"every {value}{unit}") if _is_count(value) and value else None

    return write


def _quote(value: Any) -> str | None:
    is_quotable = isinstance(value, str) and value.strip() and value.isprintable() and not {'"', "\\"} & set(value)
    return f'"{value}"' if is_quotable else None


def _as_text(option: str) -> _Writer:
    def write(value: Any) -> str | None:
        text = _quote(str(value) if _is_count(value) else value)
        return None if text is None else f"{option}={text}"

    return write


def _as_length(option: str, before: str = "") -> _Writer:
    def write(value: Any) -> str | None:
        length = _duration(value)
        return None if length is None else f'{option}="{before}{length}"'

    return write


def _as_mapping(option: str) -> _Writer:
    def write(value: Any) -> str | None:
        return f"{option}={value!r}" if isinstance(value, dict) and value else None

    return write


def _guarantee(value: Any) -> str | None:
    """Translate Celery's late acknowledgement: acknowledged after the run, a task is repeated when its worker dies."""
    return f'guarantee="{"at_least_once" if value else "at_most_once"}"' if isinstance(value, bool) else None


def _for_names(names: str, write: _Writer) -> dict[str, _Writer]:
    return dict.fromkeys(names.split(), write)


_WRITERS: Final[dict[str, _Writer]] = {
    **_for_names("max_retries retry_count num_retries", _retries),
    **_for_names("max_attempts tries max_tries", _attempts),
    **_for_names("retry_delay default_retry_delay retry_delay_seconds", _backoff),
    **_for_names("cron crontab schedule trigger interval every when run_every", _schedule),
    **_for_names("seconds", _every("s")),
    **_for_names("minutes", _every("m")),
    **_for_names("hours", _every("h")),
    **_for_names("days", _every("d")),
    **_for_names(_MOMENTS, _moment),
    **_for_names(_DELAYS, _delay),
    **_for_names("tz timezone tzinfo time_zone", _as_text("zone")),
    **_for_names("queue queue_name", _as_text("lane")),
    **_for_names("misfire_grace_time grace_time", _as_length("missed", "latest within ")),
    **_for_names("id job_id task_id _job_id identifier idempotency_key dedupe_key", _as_text("key")),
    **_for_names("kwargs params parameters data input", _as_mapping("payload")),
    **_for_names("time_limit hard_time_limit max_runtime", _as_length("max_duration")),
    **_for_names("soft_time_limit job_timeout timeout_seconds time_out", _as_length("timeout")),
    **_for_names("acks_late ack_late reject_on_worker_lost", _guarantee),
    **_for_names("metadata meta annotations", _as_mapping("labels")),
    **_for_names("task_name title", _as_text("name")),
    **_for_names("tenant user user_id account", _as_text("owner")),
}
