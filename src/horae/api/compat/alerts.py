"""`alertConfig`: how a client shows what is due. It is kept and told as it came, once it makes sense."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .refusals import refuse

METHODS: Final = ("POPUP", "SOUND", "SYSTEM_NOTIFICATION", "EMAIL", "SMS", "DESKTOP_FLASH")
_MOST_OPTIONS: Final = 20


def read_alert(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _bad("alertConfig", value, "a JSON object")
    for name, (fits, wanted) in _RULES.items():
        given = value.get(name)
        if given is not None and not fits(given):
            raise _bad(f"alertConfig.{name}", given, wanted)
    return dict(value)


def _methods(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(each in METHODS for each in given)


def _volume(given: Any) -> bool:
    return _is_number(given) and 0 <= given <= 100


def _minutes(given: Any) -> bool:
    return (
        isinstance(given, list) and len(given) <= _MOST_OPTIONS and all(_is_number(each) and each > 0 for each in given)
    )


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


_RULES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "methods": (_methods, f"one or more of {', '.join(METHODS)}"),
    "soundVolume": (_volume, "a number from 0 to 100"),
    "popupDuration": (lambda given: _is_number(given) and given >= 0, "seconds, not below 0"),
    "allowSnooze": (lambda given: isinstance(given, bool), "true or false"),
    "snoozeOptions": (_minutes, "a list of minutes above 0"),
}


def _bad(name: str, value: object, wanted: str) -> Exception:
    return refuse("compat_bad_field", name=name, value=value, wanted=wanted)
