"""Parses and matches the status codes that count as success: `204`, `"2xx"`, `"200-204"`."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from .refusals import refuse

Statuses: TypeAlias = tuple[int | str, ...]

DEFAULT_STATUSES: Final[Statuses] = ("2xx",)
_MAX_ITEMS: Final = 32
_CLASS: Final = re.compile(r"([1-5])[xX]{2}")
_RANGE: Final = re.compile(r"([1-5][0-9]{2})-([1-5][0-9]{2})")
_EXPECTED: Final = 'a list of status codes and ranges, such as [200, 404], ["2xx"] or ["200-204"]'


def check_statuses(given: Any) -> Statuses:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= _MAX_ITEMS:
        raise refuse("http_bad_value", name="success", value=given, wanted=_EXPECTED)
    return tuple(_check_item(each) for each in given)


def is_success(status: int, statuses: Statuses) -> bool:
    return any(status in _code_range(each) for each in statuses)


def _check_item(given: Any) -> int | str:
    if isinstance(given, int | str) and not isinstance(given, bool) and _code_range(given):
        return given.lower() if isinstance(given, str) else given
    raise refuse("http_bad_value", name="success", value=given, wanted=_EXPECTED)


def _code_range(given: int | str) -> range:
    """Return the status codes of one item; empty when it is invalid."""
    if isinstance(given, int):
        return range(given, given + 1) if 100 <= given <= 599 else range(0)
    if match := _CLASS.fullmatch(given):
        return range(int(match[1]) * 100, int(match[1]) * 100 + 100)
    match = _RANGE.fullmatch(given)
    return range(int(match[1]), int(match[2]) + 1) if match else range(0)
