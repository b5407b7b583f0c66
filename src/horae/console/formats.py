"""Texts of instants, durations and numbers on a page, in the language and the zone of the viewer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from ..choices import Language
from ..schedule.preview import format_relative
from .viewer import Viewer

NOTHING: Final = "–"
MAX_COUNTED: Final = 10_000
_UNITS: Final[dict[Language, tuple[str, ...]]] = {"en": ("d", "h", "m", "s"), "zh": ("天", "小时", "分", "秒")}
_SIZES: Final = (86_400, 3_600, 60, 1)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def format_duration(length: timedelta | None, language: Language) -> str:
    """Return a duration with its two largest units: `7 ms`, `1.2 s`, `4 m 10 s`, `3 天 2 小时`."""
    if length is None:
        return NOTHING
    seconds = max(0.0, length.total_seconds())
    if seconds < 0.9995:
        return f"{round(seconds * 1_000)} {'ms' if language == 'en' else '毫秒'}"
    if seconds < 59.95:
        return f"{round(seconds, 1):g} {_UNITS[language][3]}"
    rest, parts = round(seconds), []
    for size, unit in zip(_SIZES, _UNITS[language], strict=True):
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def format_lateness(lateness: timedelta | None, language: Language) -> str:
    return NOTHING if lateness is None else f"+{format_duration(lateness, language)}"


def format_clock(at: datetime | None, viewer: Viewer, zone: str | None = None) -> str:
    """Return the time of day of an instant, with the date where it is not today in that zone."""
    if at is None:
        return NOTHING
    tz = viewer.tz if zone is None else viewer._replace(zone=zone).tz
    local, today = at.astimezone(tz), viewer.now.astimezone(tz)
    clock = f"{local.hour:02}:{local.minute:02}"
    if local.second or local.microsecond:
        clock += f":{local.second:02}"
    return clock if local.date() == today.date() else f"{format_day(local, today, viewer.language)} {clock}"


def format_day(day: datetime, today: datetime, language: Language) -> str:
    if language == "zh":
        return f"{day.month}月{day.day}日" if day.year == today.year else f"{day.year}年{day.month}月{day.day}日"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {_MONTHS[day.month - 1]}{year}"


def format_day_and_clock(at: datetime, viewer: Viewer, zone: str) -> str:
    """Return day and time of an instant in a zone that may not be the viewer's, where `today` would be ambiguous."""
    tz = viewer._replace(zone=zone).tz
    local = at.astimezone(tz)
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{format_day(local, viewer.now.astimezone(tz), viewer.language)} {clock}"


def format_instant(at: datetime | None, viewer: Viewer) -> str:
    """Return an instant in full, with its offset: `2026-11-17 09:00:00 +08:00`."""
    if at is None:
        return NOTHING
    local = at.astimezone(viewer.tz)
    offset = local.isoformat()[-6:]
    return f"{local:%Y-%m-%d %H:%M:%S} {offset}"


def format_distance(at: datetime | None, viewer: Viewer) -> str:
    """Return how far an instant is away: `in 41 s`, `12 m ago`."""
    return NOTHING if at is None else format_relative(at - viewer.now, viewer.language)


def format_count(number: int, *, is_more: bool = False) -> str:
    """Return a number with thin spaces; a bounded count shows its bound: `10 000+`. `is_more`: the count was cut at `number`."""
    text = f"{min(number, MAX_COUNTED):,}".replace(",", "\u202f")
    return f"{text}+" if is_more or number >= MAX_COUNTED else text


def format_limit(number: int) -> str:
    """Return a limit in full, with thin spaces: unlike a count it has no bound."""
    return f"{number:,}".replace(",", "\u202f")


def format_share(share: float | None) -> str:
    """Return a share in percent; never rounded up to 100 % where something is missing."""
    if share is None:
        return NOTHING
    if share == 1:
        return "100\u202f%"
    digits = 2 if share > 0.99 else 1
    scale = 10**digits
    return f"{int(share * 100 * scale) / scale:.{digits}f}\u202f%"


def machine_time(at: datetime) -> str:
    """Return the `datetime` attribute of a time element, in UTC with milliseconds."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
