"""Duration parser and formatter: ISO 8601 (`PT1H30M`) and the short form (`1h30m`), as exact lengths of real time."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache
from typing import Final

from .refusals import refuse

_NUMBER: Final = r"(\d{1,12}(?:\.\d{1,6})?)"
_ISO: Final = re.compile(
    rf"P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?", re.ASCII
)
_SHORT: Final = re.compile(
    rf"(?:{_NUMBER}w)?(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?", re.ASCII
)
_UNITS: Final = (604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1)
"""Milliseconds per unit; the last is for the short form alone."""
_MAX_SECONDS: Final = 10**12


def parse_duration(text: str) -> timedelta:
    """Parse a duration; refuses months and years, which have no fixed length, and other text."""
    stripped = text.strip()
    match = _ISO.fullmatch(stripped.upper()) or _SHORT.fullmatch(stripped.lower())
    parts = match.groups() if match and not stripped.upper().endswith(("P", "T")) else ()
    if not any(parts):
        raise refuse("bad_duration", 0, value=text)
    microseconds = sum(_to_microseconds(part) * unit // 1000 for part, unit in zip(parts, _UNITS, strict=False) if part)
    if microseconds > _MAX_SECONDS * 1_000_000:
        raise refuse("bad_duration", 0, value=text)
    return timedelta(microseconds=microseconds)


_AMOUNT_AND_UNIT: Final = re.compile(r"(\d+)(?:\.(\d+))?([a-z]+)", re.ASCII)
_MAX_DIGITS: Final = 15
_UNITS_BY_LETTER: Final = dict(zip("wdhms", _UNITS, strict=False))
_MILLISECOND: Final = re.compile(r"ms|milli")


def parse_spoken_duration(text: str, position: int) -> timedelta:
    """Parse `1h30m`, `2hours` or `250ms`; refuses fractions of a millisecond and a capital M (month or minute)."""
    if "M" in text and not text.isupper():
        raise refuse("bad_duration", position, value=text)
    if re.fullmatch(r"\d+M", text):
        raise refuse("month_or_minute", position, value=text)
    text, microseconds, end, is_finer = text.lower(), 0, 0, False
    for match in _AMOUNT_AND_UNIT.finditer(text):
        whole, fraction, unit = match.groups()
        if match.start() != end or len(whole) > _MAX_DIGITS:
            raise refuse("bad_duration", position, value=text)
        length = 1 if _MILLISECOND.match(unit) else _UNITS_BY_LETTER[unit[0]]
        is_finer = is_finer or bool((fraction or "")[6:].strip("0"))
        microseconds += _to_microseconds(f"{whole}.{(fraction or '0')[:6]}") * length // 1000
        end = match.end()
    if end != len(text) or microseconds > _MAX_SECONDS * 1_000_000:
        raise refuse("bad_duration", position, value=text)
    if is_finer or microseconds % 1000 or not microseconds:
        raise refuse("sub_millisecond", position, value=re.sub(r"(?<=\d)(?=[a-z]{2})", " ", text))
    return timedelta(microseconds=microseconds)


def _to_microseconds(number: str) -> int:
    whole, _, fraction = number.partition(".")
    return int(whole) * 1_000_000 + int(fraction.ljust(6, "0") or 0)


def format_short_duration(duration: timedelta) -> str:
    """The short form: `1h30m`, `1d`, `0.5s`."""
    return format_iso_duration(duration).replace("P", "").replace("T", "").lower()


@lru_cache(maxsize=256)
def format_iso_duration(duration: timedelta) -> str:
    """The canonical ISO 8601 form: days, hours, minutes and seconds, without those that are zero."""
    hours, rest = divmod(duration.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    fraction = f".{duration.microseconds:06}".rstrip("0") if duration.microseconds else ""
    clock = "".join(f"{amount}{unit}" for amount, unit in ((hours, "H"), (minutes, "M")) if amount)
    if seconds or fraction:
        clock += f"{seconds}{fraction}S"
    days = f"{duration.days}D" if duration.days else ""
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"
