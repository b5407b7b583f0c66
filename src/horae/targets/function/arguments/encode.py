"""Encodes Python values as JSON: arguments strictly, since they must round-trip; results with a `repr` fallback."""

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
_JSON_SCALARS: Final = frozenset({str, int, bool, type(None)})
_TOO_DEEP_TEXT: Final = "it is nested too deeply, or holds itself"


class UnencodableError(ValueError):
    """A value that has no JSON form."""


def dump_compact(value: Any) -> str:
    """Dump a JSON value compactly; a lone surrogate, which no store accepts, stays an escape."""
    text = _DUMP(value)
    return text if text.isascii() or _is_encodable(text) else _DUMP_ASCII(value)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_arguments(arguments: Mapping[str, object]) -> str:
    """Encode arguments as a payload; raises a refusal for values without a JSON form, and for a payload too large."""
    try:
        text = dump_compact(to_jsonable(dict(arguments)))
    except ValueError as error:  # also an integer with more digits than Python formats
        raise refuse("bad_payload", value=error) from None
    except RecursionError:
        raise refuse("bad_payload", value=_TOO_DEEP_TEXT) from None
    size = len(text.encode())
    if size > PAYLOAD_BYTES:
        raise refuse("payload_too_large", size=size, most=PAYLOAD_BYTES)
    return text


def encode_result(result: object) -> str | None:
    """Encode a function's result. Never raises, since the work is done: a value without a JSON form becomes its `repr`."""
    if result is None:
        return None
    if isinstance(result, str):
        return _encode_shortened(str(result[: RESULT_BYTES + 1]))
    try:
        text = dump_compact(to_jsonable(result, otherwise=_fallback_text))
    except BaseException as error:  # noqa: BLE001 - a foreign __repr__ or property may raise anything, SystemExit too
        text = dump_compact(f"<{type(result).__name__} that cannot be shown: {type(error).__name__}>")
    # Cut before encoding to bytes, so that a huge text is not copied.
    text = text[: RESULT_BYTES + 1]
    return text if len(text.encode()) <= RESULT_BYTES else _encode_shortened(text)


def _encode_shortened(text: str) -> str:
    """Encode as a JSON string within the size limit, with an ellipsis where it was cut."""
    encoded, keep = dump_compact(text), len(text)
    while (size := len(encoded.encode())) > RESULT_BYTES:
        keep = min(keep - 1, keep * RESULT_BYTES // size)
        encoded = dump_compact(text[:keep] + "…")
    return encoded


def _raise_unencodable(value: object) -> Any:
    raise UnencodableError(f"{type(value).__name__} {value!r}"[:80])


def _fallback_text(value: object) -> Any:
    return value.isoformat() if isinstance(value, datetime) else repr(value)


def to_jsonable(value: Any, otherwise: Callable[[object], Any] = _raise_unencodable) -> Any:
    """Convert to dictionaries, lists, strings, numbers, booleans and None; `otherwise` converts values without JSON form."""
    if value.__class__ in _JSON_SCALARS:
        return value
    match value:
        case Enum():
            return to_jsonable(value.value, otherwise)
        case Mapping():
            return {_encode_key(key, otherwise): to_jsonable(each, otherwise) for key, each in value.items()}
        case set() | frozenset():
            return sorted((to_jsonable(each, otherwise) for each in value), key=dump_compact)
        case list() | tuple() if not hasattr(value, "_fields"):
            return [to_jsonable(each, otherwise) for each in value]
        case _:
            return _encode_scalar(value, otherwise)


def _encode_scalar(value: Any, otherwise: Callable[[object], Any]) -> Any:
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
            return _encode_structure(value, otherwise)


def _encode_structure(value: Any, otherwise: Callable[[object], Any]) -> Any:
    if isinstance(value, tuple):
        return _encode_fields(value, value._fields, otherwise)  # type: ignore[attr-defined]
    if isinstance(value, type):
        return otherwise(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        return _encode_fields(value, (each.name for each in fields(value) if each.init), otherwise)
    return otherwise(value)


def _encode_fields(value: object, names: Iterable[str], otherwise: Callable[[object], Any]) -> dict[str, Any]:
    return {name: to_jsonable(getattr(value, name), otherwise) for name in names}


def _encode_key(key: object, otherwise: Callable[[object], Any]) -> str:
    text = to_jsonable(key, otherwise)
    if isinstance(text, str):
        return text
    return dump_compact(text) if text is None or isinstance(text, int | float) else str(otherwise(key))
