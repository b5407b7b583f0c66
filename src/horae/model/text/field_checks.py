"""Field validation: each check refuses a bad value with the name of the field and the values that it accepts."""

from __future__ import annotations

from datetime import timedelta

from ..refusals import refuse
from .invisible_characters import code_point, first_ignorable


def check_type(name: str, value: object, expected: type) -> None:
    """Refuse a value of another type: values that callers build are not checked by a type checker."""
    if not isinstance(value, expected):
        raise refuse("bad_policy", name=name, value=value, wanted=expected.__name__)


def check_text(name: str, value: object, most: int) -> None:
    """Refuse text that is empty, blank, too long or not printable; a lone surrogate, which no store can keep, is not printable."""
    if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable() or value.isspace():
        raise refuse("bad_text", name=name, value=value, most=most)
    check_visible(name, value)


def check_visible(name: str, value: str) -> None:
    """Refuse default-ignorable characters: names that look alike must be equal."""
    hidden = first_ignorable(value)
    if hidden is not None:
        raise refuse("invisible_character", name=name, character=code_point(hidden), place=value.index(hidden) + 1)


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise refuse("bad_choice", name=name, value=value, allowed=", ".join(allowed))


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise refuse("bad_choice", name=name, value=value, allowed="true, false")


def check_number(name: str, value: object, least: int, most: int, *, whole: bool = True) -> None:
    """Refuse a number outside `least` to `most`; a bool is no number."""
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
        raise refuse("bad_number", name=name, value=value, least=least, most=most)


def check_duration(name: str, value: object, most: timedelta, least: timedelta = timedelta(milliseconds=1)) -> None:
    if not isinstance(value, timedelta) or not least <= value <= most:
        raise refuse("bad_duration", name=name, value=value, least=least, most=most)
