"""Bounded reading of untrusted files: bytes of a regular file, UTF-8 text, strict JSON; or a refusal."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, Final

from ..errors import Refusal
from .refusals import refuse

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Far above any real file; JSON of this size still fits into memory many times over."""


def read_bytes(path: Path) -> bytes:
    """Read the whole file; a pipe or device is refused, not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise refuse("import_no_file", path=path) from None
    except OSError as error:
        raise refuse("import_unreadable", path=path, problem=error.strerror) from None
    except ValueError:  # a NUL in the path
        raise refuse("import_no_file", path=path) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise refuse("import_not_a_file", path=path)
        with open(descriptor, "rb", closefd=False) as file:
            return check_size(file.read(MAX_FILE_BYTES + 1))
    except OSError as error:
        raise refuse("import_unreadable", path=path, problem=error.strerror) from None
    finally:
        os.close(descriptor)


def decode_text(data: bytes | str) -> str:
    """Decode UTF-8 without NUL; a byte order mark at the beginning is dropped."""
    text = _decode(check_size(data if isinstance(data, bytes) else _encode(data)))
    if "\0" in text:
        raise refuse("import_binary", position=text.index("\0"))
    return text.removeprefix("\ufeff")


def check_size(data: bytes) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise refuse("import_too_large", most=MAX_FILE_BYTES)
    return data


def _encode(text: str) -> bytes:
    try:
        return text[: MAX_FILE_BYTES + 1].encode()
    except UnicodeEncodeError as error:
        raise refuse("import_bad_utf8", position=error.start) from None


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        code = "import_binary" if b"\0" in data[: error.start + 1] else "import_bad_utf8"
        position = data.index(b"\0") if code == "import_binary" else error.start
        raise refuse(code, position=position) from None


MAX_DEPTH: Final = 64


def read_json(data: bytes | str) -> Any:
    """Parse untrusted JSON: bounded size and depth, no duplicate keys, no NaN or infinity."""
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
