"""Python values as JSON text: arguments strictly, since they must come back as they were; results as well as it goes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from ....model.limits import PAYLOAD_BYTES, RESULT_BYTES
from ....model.refusals import refuse

_DUMP: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_DUMP_ASCII: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None)})
_TOO_DEEP: Final = "it is nested too deeply, or holds itself"


class UnencodableError(ValueError):
    """A value that JSON cannot say."""


def compact(value: Any) -> str:
    """JSON text of what is JSON already; half of a surrogate pair, which no store takes, stays an escape."""
    text = _DUMP(value)
    return text if text.isascii() or _is_whole(text) else _DUMP_ASCII(value)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_arguments(arguments: Mapping[str, object]) -> str:
    """The payload that calls a function with these arguments; refused when JSON cannot say them, or they are too many."""
    try:
        text = compact(plain(dict(arguments)))
    except ValueError as error:  # also a number with more digits than Python writes
        raise refuse("bad_payload", value=error) from None
    except RecursionError:
        raise refuse("bad_payload", value=_TOO_DEEP) from None
    size = len(text.encode())
    if size > PAYLOAD_BYTES:
        raise refuse("payload_too_large", size=size, most=PAYLOAD_BYTES)
    return text


def encode_result(result: object) -> str | None:
    """What a function returned. It did its work, so this never fails: what JSON cannot say is kept as its `repr`."""
    if result is None:
        return None
    if isinstance(result, str):
        return _cut(str(result[: RESULT_BYTES + 1]))
    try:
        text = compact(plain(result, otherwise=_shown))
    except BaseException as error:  # noqa: BLE001 - whatever a foreign __repr__ or property raises, SystemExit too
        text = compact(f"<{type(result).__name__} that cannot be shown: {type(error).__name__}>")
    # What is far too long is cut before anything else is made of it.
    text = text[: RESULT_BYTES + 1]
    return text if len(text.encode()) <= RESULT_BYTES else _cut(text)


def _cut(text: str) -> str:
    """As a JSON text within bounds; an ellipsis shows that something is missing."""
    encoded, keep = compact(text), len(text)
    while (size := len(encoded.encode())) > RESULT_BYTES:
        keep = min(keep - 1, keep * RESULT_BYTES // size)
        encoded = compact(text[:keep] + "…")
    return encoded


def _refused(value: object) -> Any:
    raise UnencodableError(f"{type(value).__name__} {value!r}"[:80])


def _shown(value: object) -> Any:
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def plain(value: Any, otherwise: Callable[[object], Any] = _refused) -> Any:
    """The same in dictionaries, lists, texts, numbers, booleans and None; `otherwise` answers for what has no such form."""
    if value.__class__ in _AS_THEY_ARE:
        return value
    match value:
        case Enum():
            return plain(value.value, otherwise)
        case Mapping():
            return {_key(key, otherwise): plain(each, otherwise) for key, each in value.items()}
        case set() | frozenset():
            return sorted((plain(each, otherwise) for each in value), key=compact)
        case list() | tuple() if not hasattr(value, "_fields"):
            return [plain(each, otherwise) for each in value]
        case _:
            return _single(value, otherwise)


def _single(value: Any, otherwise: Callable[[object], Any]) -> Any:
    match value:
        case str() | UUID() | Decimal() | PurePath():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else otherwise(value)
        case timedelta():
            return value.total_seconds()
        case datetime() if value.tzinfo is None:
            return otherwise(value)
        case date() | time():
            return value.isoformat()
        case _:
            return _parts(value, otherwise)


def _parts(value: Any, otherwise: Callable[[object], Any]) -> Any:
    if isinstance(value, tuple):
        return _named(value, value._fields, otherwise)  # type: ignore[attr-defined]
    if isinstance(value, type):
        return otherwise(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return _named(value, (each.name for each in fields(value) if each.init), otherwise)
    return otherwise(value)


def _named(value: object, names: Iterable[str], otherwise: Callable[[object], Any]) -> dict[str, Any]:
    return {name: plain(getattr(value, name), otherwise) for name in names}


def _key(key: object, otherwise: Callable[[object], Any]) -> str:
    text = plain(key, otherwise)
    if isinstance(text, str):
        return text
    return compact(text) if text is None or isinstance(text, int | float) else str(otherwise(key))
