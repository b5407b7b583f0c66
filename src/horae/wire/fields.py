"""What may stand in an object that came from outside: known names, each of the right kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from ..model.refusals import refuse


def check_fields(name: str, value: object, allowed: Collection[str]) -> Mapping[str, Any]:
    """The object itself; a refusal when it is none, or has a field that nobody knows."""
    if not isinstance(value, Mapping):
        raise refuse("bad_policy", name=name, value=value, wanted="JSON object")
    for key in value:
        if key not in allowed:
            near = get_close_matches(str(key), list(allowed), 1)
            # The nearest one comes first: it is most likely the one that was meant.
            raise refuse("unknown_field", name=key, allowed=", ".join([*near, *(a for a in allowed if a not in near)]))
    return value


def text_or_none(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise refuse("bad_policy", name=name, value=value, wanted="text")
    return value
