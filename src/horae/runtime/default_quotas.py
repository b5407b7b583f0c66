"""Default quotas of owners without admin rights, from the settings: interval, active tasks, request rate."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from ..errors import InvalidSchedule
from ..model.accounts.principal import MEMBER_QUOTAS, Quotas
from ..model.refusals import refuse
from ..schedule.durations import parse_duration
from ..settings import Settings

_MAX_TASKS: Final = 1_000_000
_MAX_REQUESTS: Final = 1_000_000
_NO_LIMIT: Final = ("off", "none")


def read_default_quotas(settings: Settings) -> Quotas:
    return MEMBER_QUOTAS._replace(
        shortest_interval=_min_interval(settings),
        active_tasks=_max_active_tasks(settings),
        requests_per_minute=_requests_per_minute(settings),
    )


def _requests_per_minute(settings: Settings) -> int | None:
    """Return the requests a minute of one owner; None (for 0 or `off`) means no limit."""
    text = str(settings.value("rate_limit")).strip().lower()
    if text in (*_NO_LIMIT, "0"):
        return None
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MAX_REQUESTS:
        raise refuse("bad_number", name="rate_limit", value=text, least=1, most=_MAX_REQUESTS)
    return int(text)


def _min_interval(settings: Settings) -> timedelta | None:
    text = str(settings.value("quota_min_interval")).strip().lower()
    if text in (*_NO_LIMIT, "0"):
        return None
    try:
        return parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        raise refuse("bad_duration", name="quota_min_interval", value=text, least="0s", most="1d") from None


def _max_active_tasks(settings: Settings) -> int | None:
    text = str(settings.value("quota_active_tasks")).strip().lower()
    if text in _NO_LIMIT:
        return None
    if not text.isdecimal() or int(text[:9]) > _MAX_TASKS:
        raise refuse("bad_number", name="quota_active_tasks", value=text, least=0, most=_MAX_TASKS)
    return int(text)
