"""Reads JSON that nobody vouches for: bounded in size and depth, no key twice, no number that JSON has not."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from ..errors import Refusal
from .files import as_text
from .refusals import refuse

DEEPEST: Final = 64


def read_json(data: bytes | str) -> Any:
    try:
        value = json.loads(
            as_text(data), object_pairs_hook=_unique, parse_constant=_no_such_number, parse_float=_finite
        )
    except Refusal:
        raise
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise refuse("import_bad_json", problem=problem) from None
    except ValueError as error:  # a number of thousands of digits, among others
        raise refuse("import_bad_json", problem=error) from None
    except RecursionError:
        raise refuse("import_too_deep", most=DEEPEST) from None
    _check_depth(value)
    return value


def is_sound(value: Any) -> bool:
    """Whether every text in it is text: JSON can spell halves of letters, which no file and no program takes."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_depth(value: Any) -> None:
    """Level by level, not by recursion: what comes after may recurse without care."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise refuse("import_too_deep", most=DEEPEST)


def _inside(value: Any) -> list[Any]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in children if isinstance(child, dict | list)]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise refuse("import_duplicate_key", key=name)
        found[name] = value
    return found


def _no_such_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number
