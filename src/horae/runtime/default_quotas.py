"""How much of everything an owner may have who is no admin, as the settings of this deployment say it."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from ..errors import InvalidSchedule
from ..model.accounts.principal import MEMBER_QUOTAS, Quotas
from ..model.refusals import refuse
from ..schedule.durations import parse_duration
from ..settings import Settings

_MOST_TASKS: Final = 1_000_000
_MOST_REQUESTS: Final = 1_000_000
_NO_LIMIT: Final = ("off", "none")


def usual_quotas(settings: Settings) -> Quotas:
    return MEMBER_QUOTAS._replace(
        shortest_interval=_interval(settings), active_tasks=_number(settings), requests_per_minute=_rate(settings)
    )


def _rate(settings: Settings) -> int | None:
    """Requests a minute of one owner; 0 or `off`: no limit."""
    said = str(settings.value("rate_limit")).strip().lower()
    if said in (*_NO_LIMIT, "0"):
        return None
    if not said.isdecimal() or not 1 <= int(said[:9]) <= _MOST_REQUESTS:
        raise refuse("bad_number", name="rate_limit", value=said, least=1, most=_MOST_REQUESTS)
    return int(said)


def _interval(settings: Settings) -> timedelta | None:
    text = str(settings.value("quota_min_interval")).strip().lower()
    if text in (*_NO_LIMIT, "0"):
        return None
    try:
        return parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        raise refuse("bad_duration", name="quota_min_interval", value=text, least="0s", most="1d") from None


def _number(settings: Settings) -> int | None:
    text = str(settings.value("quota_active_tasks")).strip().lower()
    if text in _NO_LIMIT:
        return None
    if not text.isdecimal() or int(text[:9]) > _MOST_TASKS:
        raise refuse("bad_number", name="quota_active_tasks", value=text, least=0, most=_MOST_TASKS)
    return int(text)
