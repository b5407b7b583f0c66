"""What may stand in a field: each check names the field, and says what would fit."""

from __future__ import annotations

from datetime import timedelta

from .refusals import refuse


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise refuse("bad_choice", name=name, value=value, allowed=", ".join(allowed))


def check_number(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise refuse("bad_number", name=name, value=value, least=least, most=most)
    if name != "factor" and not isinstance(value, int):
        raise refuse("bad_number", name=name, value=value, least=least, most=most)


def check_duration(name: str, value: object, most: timedelta, least: timedelta = timedelta(milliseconds=1)) -> None:
    if not isinstance(value, timedelta) or not least <= value <= most:
        raise refuse("bad_duration", name=name, value=value, least=least, most=most)
