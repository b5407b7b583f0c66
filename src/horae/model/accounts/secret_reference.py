"""Secret references: `{"secret": "name"}` in the JSON of a target or payload, replaced by the value only at run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

REFERENCE_KEY: Final = "secret"


class SecretPlace(NamedTuple):
    """Reference to a secret: its name, and the path of keys and indexes to it."""

    name: str
    path: tuple[str | int, ...]


def secret_name(value: Any) -> str | None:
    """Return the name in a reference; None for every other value."""
    if isinstance(value, dict) and value.keys() == {REFERENCE_KEY} and isinstance(value[REFERENCE_KEY], str):
        return str(value[REFERENCE_KEY])
    return None


def secret_places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[SecretPlace]:
    """Yield all references in a JSON value, in order."""
    name = secret_name(value)
    if name is not None:
        yield SecretPlace(name, path)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from secret_places(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from secret_places(each, (*path, index))


def secret_names(value: Any) -> Iterator[str]:
    for place in secret_places(value):
        yield place.name
