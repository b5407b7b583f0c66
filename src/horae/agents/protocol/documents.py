"""Strict JSON objects: unique names, no NaN, bounded size, fields taken out by name and type; and the error that refuses them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, Final, NoReturn


class ProtocolError(ValueError):
    """`code` is stable, `pointer` is a JSON pointer, empty for the whole document."""

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(f"{message} (at {pointer})" if pointer else message)
        self.code = code
        self.pointer = pointer


MAX_INPUT_BYTES: Final = 16 * 1024 * 1024
_MAX_EXCERPT: Final = 40


class Fields:
    """Fields of one JSON object. Each is taken once; `finish` refuses those that are left."""

    def __init__(self, values: Mapping[str, Any], pointer: str = "") -> None:
        self._values = dict(values)
        self._pointer = pointer

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            self._refuse(name, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        value = self._values.pop(name, None)
        if value is not None and not isinstance(value, str):
            self._refuse(name, "a text")
        return value

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        value = self._take(name) if default is None else self._values.pop(name, default)
        if not isinstance(value, bool):
            self._refuse(name, "true or false")
        return value

    def optional_count(self, name: str) -> int | None:
        value = self._values.pop(name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            self._refuse(name, "a whole number, 0 or more")
        return value

    def optional_amount(self, name: str) -> float | None:
        value = self._values.pop(name, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self._refuse(name, "a number, 0 or more")
        try:
            amount = float(value)
        except OverflowError:
            self._refuse(name, "a number, 0 or more")
        return amount

    def optional_object(self, name: str) -> Fields | None:
        value = self._values.pop(name, None)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._refuse(name, "an object")
        return Fields(value, self._path(name))

    def texts(self) -> dict[str, str]:
        """Take all fields of this object; each must be a text."""
        return {name: self.text(name) for name in tuple(self._values)}

    def finish(self) -> None:
        for name in self._values:
            raise ProtocolError("unknown_field", f"the document has no field {name[:_MAX_EXCERPT]!r}", self._path(name))

    def _take(self, name: str) -> Any:
        if name not in self._values:
            raise ProtocolError("missing_field", f"the field {name!r} is missing", self._path(name))
        return self._values.pop(name)

    def _refuse(self, name: str, expected: str) -> NoReturn:
        raise ProtocolError("wrong_type", f"the field {name[:_MAX_EXCERPT]!r} is not {expected}", self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def read_object(data: bytes, max_bytes: int) -> Fields:
    if len(data) > max_bytes:
        raise ProtocolError("too_long", f"the document has {len(data)} bytes, {max_bytes} are allowed")
    try:
        value = _DECODER.decode(data.decode())
    except ProtocolError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProtocolError("not_json", f"the document is not JSON in UTF-8: {error}") from None
    if not isinstance(value, dict):
        raise ProtocolError("not_an_object", "the document is not a JSON object")
    return Fields(value)


def write_object(values: Mapping[str, Any], *, nullable: Collection[str] = ()) -> bytes:
    """Return one line of ASCII; a field that is None is left out unless it is nullable."""
    present = {name: value for name, value in values.items() if value is not None or name in nullable}
    return json.dumps(present, allow_nan=False, separators=(",", ":")).encode()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ProtocolError("duplicate_field", "an object of the document has a field twice")
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise ProtocolError("not_json", f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ProtocolError("not_json", "a number of the document is too large")
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
