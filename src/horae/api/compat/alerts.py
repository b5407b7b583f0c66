"""Validates `alertConfig`, the client's display settings, which are stored and returned unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .refusals import refuse

METHODS: Final = ("POPUP", "SOUND", "SYSTEM_NOTIFICATION", "EMAIL", "SMS", "DESKTOP_FLASH")
_MAX_OPTIONS: Final = 20


def read_alert(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _field_refusal("alertConfig", value, "a JSON object")
    for name, (is_valid, expected) in _RULES.items():
        given = value.get(name)
        if given is not None and not is_valid(given):
            raise _field_refusal(f"alertConfig.{name}", given, expected)
    return dict(value)


def _are_methods(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(each in METHODS for each in given)


def _is_volume(given: Any) -> bool:
    return _is_number(given) and 0 <= given <= 100


def _are_minutes(given: Any) -> bool:
    return (
        isinstance(given, list) and len(given) <= _MAX_OPTIONS and all(_is_number(each) and each > 0 for each in given)
    )


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


_RULES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "methods": (_are_methods, f"one or more of {', '.join(METHODS)}"),
    "soundVolume": (_is_volume, "a number from 0 to 100"),
    "popupDuration": (lambda given: _is_number(given) and given >= 0, "seconds, not below 0"),
    "allowSnooze": (lambda given: isinstance(given, bool), "true or false"),
    "snoozeOptions": (_are_minutes, "a list of minutes above 0"),
}


def _field_refusal(name: str, value: object, expected: str) -> Exception:
    return refuse("compat_bad_field", name=name, value=value, wanted=expected)
