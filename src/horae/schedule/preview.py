"""Preview of the next fires: local time, offset, UTC, and the time until then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

from ..choices import Language
from .instants import SECOND, to_instant
from .zones import find_zone


@dataclass(frozen=True, slots=True)
class Fire:
    """One planned instant, in the zone of its schedule."""

    utc: datetime
    local: datetime  # aware, with the offset of that moment
    zone: str

    def relative(self, now: datetime, language: Language = "en") -> str:
        return format_relative(self.utc - now, language)


def make_fires(zone: str, instants: Iterable[datetime]) -> list[Fire]:
    return [Fire(each.astimezone(UTC), _to_local(each, zone), zone) for each in instants]


def _to_local(instant: datetime, zone: str) -> datetime:
    offset = find_zone(zone).offset(to_instant(instant) // SECOND)
    return instant.astimezone(timezone(timedelta(seconds=offset)))


_STEPS = ((365 * 86_400, "y", "年"), (86_400, "d", "天"), (3600, "h", "小时"), (60, "m", "分钟"), (1, "s", "秒"))


def format_relative(ahead: timedelta, language: Language) -> str:
    """Format a time span with its two largest units: `in 13 h 4 m`, `13 小时 4 分钟后`."""
    rest = round(abs(ahead).total_seconds())
    parts: list[str] = []
    for size, unit, unit_zh in _STEPS:
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount} {unit if language == 'en' else unit_zh}")
        elif parts:
            break
        if len(parts) == 2:
            break
    text = " ".join(parts) or ("0 s" if language == "en" else "0 秒")
    if ahead < timedelta(0):
        return f"{text} ago" if language == "en" else f"{text}前"
    return f"in {text}" if language == "en" else f"{text}后"
