"""Settings under the names of Zero: `redis_addr` and `redis_defdb` as the URL of a store, `plan_exec_timeout` as a duration."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from ..errors import InvalidSchedule
from ..model.policy import MAX_TIMEOUT
from ..model.refusals import refuse
from ..schedule.durations import parse_duration
from ..settings import Settings

ZERO_DATABASE: Final = 17
"""Database that Zero uses where its settings name none."""
MAX_DATABASE: Final = 1_000_000
DEFAULT_PORT: Final = 6379
_ADDRESS: Final = re.compile(r"(?:tcp://)?(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?/?")


def redis_url(settings: Settings) -> str | None:
    """Return the URL of the Redis database that the settings name; None without `redis_addr`."""
    address = str(settings.value("redis_addr") or "").strip()
    if not address:
        return None
    text = str(settings.value("redis_defdb") or "").strip() or str(ZERO_DATABASE)
    if not (text.isascii() and text.isdecimal()) or int(text[:9]) > MAX_DATABASE:
        raise refuse("bad_number", name="redis_defdb", value=text, least=0, most=MAX_DATABASE)
    match = _ADDRESS.fullmatch(address)
    port = DEFAULT_PORT if match is None or match["port"] is None else int(match["port"])
    if match is None or not 0 < port < 2**16:
        raise refuse("bad_choice", name="redis_addr", value=address, allowed="host, host:port, tcp://host:port")
    return f"redis://{match['host']}:{port}/{int(text)}"


def plan_exec_timeout(settings: Settings) -> timedelta:
    """Return the longest time of one execution of a plan; a number alone is seconds."""
    text = str(settings.value("plan_exec_timeout")).strip().lower()
    try:
        length = parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        length = timedelta(0)
    if not timedelta(0) < length <= MAX_TIMEOUT:
        raise refuse("bad_duration", name="plan_exec_timeout", value=text, least="1ms", most=MAX_TIMEOUT)
    return length
