"""Strict parser for untrusted JSON: bounded size and depth, no duplicate keys, no NaN or infinity."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from ..errors import Refusal
from .files import decode_text
from .refusals import refuse

MAX_DEPTH: Final = 64


def read_json(data: bytes | str) -> Any:
    try:
        value = json.loads(
            decode_text(data),
            object_pairs_hook=_refuse_duplicate_keys,
            parse_constant=_refuse_constant,
            parse_float=_parse_finite_float,
        )
    except Refusal:
        raise
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise refuse("import_bad_json", problem=problem) from None
    except ValueError as error:  # among others, a number of thousands of digits
        raise refuse("import_bad_json", problem=error) from None
    except RecursionError:
        raise refuse("import_too_deep", most=MAX_DEPTH) from None
    _check_depth(value)
    return value


def is_encodable(value: Any) -> bool:
    """Whether every text can be encoded: JSON can spell lone surrogates, which no file and no program accepts."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_depth(value: Any) -> None:
    """Refuse deep nesting; iterates level by level, so that later code may recurse safely."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for each in level for inner in _nested_containers(each)]
        if not level:
            return
    raise refuse("import_too_deep", most=MAX_DEPTH)


def _nested_containers(value: Any) -> list[Any]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [child for child in children if isinstance(child, dict | list)]


def _refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for name, value in pairs:
        if name in mapping:
            raise refuse("import_duplicate_key", key=name)
        mapping[name] = value
    return mapping


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _parse_finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number
