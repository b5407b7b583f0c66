"""Typed readers for the fields of another system's schedule: a value that does not fit is refused with its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from ..canonical import read_moment
from ..refusals import refuse
from ..value import Moment, check_moment
from .translation import Translation

MAX_TEXT_LENGTH: Final = 1000
_WHOLE: Final = re.compile(r"\s*([+-]?[0-9]{1,18})\s*", re.ASCII)
_FLAGS: Final[dict[str | int, bool]] = {"true": True, "1": True, 1: True, "false": False, "0": False, 0: False}


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that a dialect knows; other keys of the mapping are ignored, and null is the same as absent."""

    system: str
    values: dict[str, Any]

    @classmethod
    def of(cls, system: str, value: object, keys: tuple[str, ...]) -> Fields:
        if not isinstance(value, Mapping):
            raise refuse("compat_not_a_mapping", system=system, value=format_value(value))
        return cls(system, {key: value[key] for key in keys if key in value})

    def get(self, key: str) -> Any:
        return self.values.get(key)

    def require(self, key: str) -> Any:
        if self.get(key) is None:
            raise refuse("compat_missing", system=self.system, key=key)
        return self.get(key)

    def text(self, key: str) -> str | None:
        return None if self.get(key) is None else self.required_text(key)

    def required_text(self, key: str) -> str:
        value = self.require(key)
        if not isinstance(value, str):
            raise refuse("compat_not_text", key=key, value=format_value(value))
        if len(value) > MAX_TEXT_LENGTH:
            raise refuse("too_long", length=len(value), most=MAX_TEXT_LENGTH)
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        value = self.require(key)
        if not isinstance(value, str) or value not in allowed:
            raise refuse("compat_unknown_choice", key=key, value=format_value(value), allowed=", ".join(allowed))
        return value

    def read_integer(self, key: str, lowest: int, highest: int) -> int | None:
        value = self.get(key)
        return None if value is None else require_in_range(key, value, lowest, highest)

    def flag(self, key: str) -> bool | None:
        """Read a boolean; web forms send text and C++ programs may send 1, so both are accepted."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        parsed = (
            _FLAGS.get(value.lower() if isinstance(value, str) else value) if isinstance(value, str | int) else None
        )
        if parsed is None:
            raise refuse("compat_not_flag", key=key, value=format_value(value))
        return parsed

    def time(self, key: str) -> datetime | None:
        return None if self.get(key) is None else self.required_time(key)

    def required_time(self, key: str) -> datetime:
        """Read a wall time or an instant; a date alone is refused."""
        value = self.require(key)
        moment = parse_moment(key, value)
        if not isinstance(moment, datetime):
            raise refuse("compat_not_a_time", key=key, value=format_value(value))
        return moment

    def moment(self, key: str) -> Moment | None:
        return None if self.get(key) is None else parse_moment(key, self.get(key))

    def remember(self, translation: Translation, zone: str | None = None) -> Translation:
        return translation.with_original(self.system, zone, self.values)


def parse_integer(value: object) -> int | None:
    """A whole number, or text that is one; JavaScript has no integers, so 60.0 is 60. None for anything else."""
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        return int(match.group(1)) if match else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def require_in_range(key: str, value: object, lowest: int, highest: int) -> int:
    number = parse_integer(value)
    if number is None:
        raise refuse("compat_not_whole", key=key, value=format_value(value))
    if not lowest <= number <= highest:
        raise refuse("compat_out_of_range", key=key, value=format_value(value), lowest=lowest, highest=highest)
    return number


def parse_moment(key: str, value: object) -> Moment:
    """ISO text, or a Python date or datetime: a date, a wall time, or an instant (converted to UTC)."""
    moment = _to_utc(value) if isinstance(value, date) else read_moment(value) if isinstance(value, str) else None
    if moment is None:
        raise refuse("compat_not_a_time", key=key, value=format_value(value))
    check_moment(moment)
    return moment


def _to_utc(value: date) -> Moment | None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return value
    try:
        return value.astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def format_value(value: object) -> str:
    """Format a value for a refusal; a number of thousands of digits could not be converted to text."""
    if isinstance(value, str):
        return f'"{value[:MAX_TEXT_LENGTH]}"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 100:
        return f"≈{'-' if value < 0 else ''}10^{int(value.bit_length() * 0.30103)}"
    if isinstance(value, date):
        return f"{value.year:04}-{value.month:02}-{value.day:02}"
    if isinstance(value, int | float):
        return str(value)
    return type(value).__name__
