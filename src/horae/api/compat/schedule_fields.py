"""Field readers of `/schedules`, `alertConfig` included: each refuses an invalid value by the field's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...schedule.compat.fields import Fields, require_in_range
from .refusals import refuse

SYSTEM: Final = "schedules"
MAX_TAGS: Final = 32
MAX_TAG_LENGTH: Final = 100
MAX_TEXT_LENGTH: Final = 4_000


def read_text(name: str, value: object) -> str:
    """Return the stripped text; an absent or null value is empty."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        shown = value if isinstance(value, str) else type(value).__name__
        raise refuse(
            "compat_bad_field", name=name, value=shown, wanted=f"a text of at most {MAX_TEXT_LENGTH} characters"
        )
    return value.strip()


def read_whole_number(name: str, value: object, minimum: int, maximum: int) -> int | None:
    return None if value is None else require_in_range(name, value, minimum, maximum)


def read_flag(name: str, value: object) -> bool | None:
    return Fields.of(SYSTEM, {name: value}, (name,)).flag(name)


def read_choice(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Read a choice in any case: their tables and interfaces differ in it."""
    return Fields.of(SYSTEM, {name: read_text(name, value).upper()}, (name,)).choice(name, allowed)


def read_tags(value: object) -> list[str]:
    is_short_list = isinstance(value, list) and len(value) <= MAX_TAGS
    if not is_short_list or not all(isinstance(each, str) and len(each) <= MAX_TAG_LENGTH for each in value):  # type: ignore[attr-defined]
        expected = f"at most {MAX_TAGS} texts of at most {MAX_TAG_LENGTH} characters"
        raise refuse("compat_bad_field", name="tags", value=type(value).__name__, wanted=expected)
    return list(value)  # type: ignore[call-overload,no-any-return]


def read_source(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return source type and id: from the top level, the metadata or the payload, under one of two names each."""
    payload = body.get("payload")
    places = (body, body.get("metadata"), payload, payload.get("metadata") if isinstance(payload, Mapping) else None)
    return _first_text(places, ("sourceType", "sourceModule")), _first_text(places, ("sourceId", "sourceEntityId"))


def _first_text(places: tuple[object, ...], names: tuple[str, ...]) -> str:
    for place in places:
        for name in names if isinstance(place, Mapping) else ():
            value = place[name] if isinstance(place, Mapping) and name in place else None
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
            if value_text := read_text(name, value):
                return value_text
    return ""


METHODS: Final = ("POPUP", "SOUND", "SYSTEM_NOTIFICATION", "EMAIL", "SMS", "DESKTOP_FLASH")
_MAX_OPTIONS: Final = 20


def read_alert(value: object) -> dict[str, Any]:
    """Validate `alertConfig`, the client's display settings, which are stored and returned unchanged."""
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
