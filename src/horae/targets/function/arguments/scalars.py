"""Converters for scalars (numbers, strings, instants, durations) without coercion: the text "5" is not the number 5."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from inspect import Parameter
from typing import Any, Final
from uuid import UUID

from .converter import Converter, Mismatch

_TEXT: Final = frozenset({"string"})
_NUMBER: Final = frozenset({"integer", "number"})


def _exactly(kind: type, wanted: str, accepts: str) -> Converter:
    def read(value: Any) -> Any:
        # A boolean is an int in Python but not in JSON, so the class is compared instead of isinstance.
        if value.__class__ is not kind:
            raise Mismatch(wanted, value)
        return value

    return Converter(wanted, read, frozenset({accepts}))


def _float(value: Any) -> float:
    if value.__class__ is not float and value.__class__ is not int:
        raise Mismatch("float", value)
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("float", value) from None


_DURATION: Final = "a duration: seconds, '90s' or 'PT1M30S'"


def _timedelta(value: Any) -> timedelta:
    try:
        if value.__class__ is str:
            # Imported late: the schedule package costs a child process 0.1 s, and few functions need it.
            from ....schedule.durations import parse_duration  # noqa: PLC0415

            return parse_duration(value)
        return timedelta(seconds=_float(value))
    except (Mismatch, ValueError, OverflowError):
        raise Mismatch(_DURATION, value) from None


_INSTANT: Final = "an instant with its offset, such as '2026-03-01T15:00:00+08:00'"


def _datetime(value: Any) -> datetime:
    moment = _from_text(datetime.fromisoformat, _INSTANT).read(value)
    if moment.tzinfo is None:
        raise Mismatch(_INSTANT, value)
    return moment  # type: ignore[no-any-return]


def _from_text(parse: Callable[[str], Any], wanted: str) -> Converter:
    def read(value: Any) -> Any:
        if value.__class__ is not str:
            raise Mismatch(wanted, value)
        try:
            return parse(value)
        except (ValueError, InvalidOperation):
            raise Mismatch(wanted, value) from None

    return Converter(wanted, read, _TEXT)


ANYTHING: Final = Converter("anything", lambda value: value)
INTEGER: Final = _exactly(int, "int", "integer")
FLOAT: Final = Converter("float", _float, _NUMBER)
NOTHING: Final = _exactly(type(None), "null", "null")

SCALARS: Final[dict[Any, Converter]] = {
    Any: ANYTHING,
    object: ANYTHING,
    Parameter.empty: ANYTHING,
    None: NOTHING,
    type(None): NOTHING,
    int: INTEGER,
    float: FLOAT,
    str: _exactly(str, "str", "string"),
    bool: _exactly(bool, "bool", "boolean"),
    datetime: Converter(_INSTANT, _datetime, _TEXT),
    date: _from_text(date.fromisoformat, "a date such as '2026-03-01'"),
    time: _from_text(time.fromisoformat, "a time of day such as '09:30'"),
    timedelta: Converter(_DURATION, _timedelta, _TEXT | _NUMBER),
    UUID: _from_text(UUID, "a UUID"),
    Decimal: _from_text(Decimal, "a decimal number as text"),
}
