"""Typed readers for the fields of a foreign row or JSON object: a value of the wrong type is refused with its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ..model.ids import EPOCH
from ..schedule.compat.fields import format_value, require_in_range
from .refusals import refuse

_MILLISECOND: Final = timedelta(milliseconds=1)
_MAX_MILLISECONDS: Final = 253_370_764_800_000
"""9999-01-01: later values are not meant as dates."""
_FOLDER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)

Fields = Mapping[str, Any]


def refuse_field(key: str, value: object, expected: str) -> Exception:
    return refuse("import_bad_field", key=key, value=format_value(value), wanted=expected)


def read_optional_text(fields: Fields, key: str) -> str | None:
    """The text, or None; an empty text is the same as an absent one."""
    value = fields.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise refuse_field(key, value, "a text")
    return value


def read_required_text(fields: Fields, key: str) -> str:
    value = read_optional_text(fields, key)
    if value is None:
        raise refuse_field(key, fields.get(key), "a text that is not empty")
    return value


def read_optional_mapping(fields: Fields, key: str) -> Fields:
    value = fields.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise refuse_field(key, value, "an object")
    return value


def read_flag(fields: Fields, key: str, *, default: bool) -> bool:
    """Read a boolean; 0 and 1 are accepted, as SQLite stores them."""
    value = fields.get(key)
    if value is None:
        return default
    if value not in (0, 1):
        raise refuse_field(key, value, "true or false")
    return bool(value)


def read_instant(key: str, value: object) -> datetime:
    """The instant from milliseconds since 1970."""
    return EPOCH + require_in_range(key, value, 0, _MAX_MILLISECONDS) * _MILLISECOND


def read_duration(key: str, value: object) -> timedelta | None:
    return None if value is None else require_in_range(key, value, 0, _MAX_MILLISECONDS) * _MILLISECOND


def read_folder(key: str, value: object) -> str:
    """A group's name, which is also a folder name: nothing that leads out of the folder is accepted."""
    if not isinstance(value, str) or not _FOLDER_NAME.fullmatch(value) or value == "global":
        raise refuse_field(key, value, "a folder name of 1 to 64 letters, digits, - and _, but not 'global'")
    return value
