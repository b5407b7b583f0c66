"""Field checks for JSON objects from outside: known names only, values of the right type."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from ..model.refusals import refuse


def check_fields(name: str, value: object, allowed: Collection[str]) -> Mapping[str, Any]:
    """Return the object. Refuses a value that is no object, and an object with an unknown field (the closest allowed
    name is listed first)."""
    if not isinstance(value, Mapping):
        raise refuse("bad_policy", name=name, value=value, wanted="JSON object")
    for key in value:
        if key not in allowed:
            closest = get_close_matches(str(key), list(allowed), 1)
            known = ", ".join([*closest, *(each for each in allowed if each not in closest)])
            raise refuse("unknown_field", name=key, allowed=known, parent=name)
    return value


def text_or_none(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise refuse("bad_policy", name=name, value=value, wanted="text")
    return value
