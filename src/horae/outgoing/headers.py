"""Validates request headers: names, values, sizes, reserved names; errors never show a value, which may be a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from .refusals import refuse

Headers: TypeAlias = tuple[tuple[str, str], ...]

MAX_HEADERS: Final = 64
MAX_VALUE_LENGTH: Final = 8_000
MAX_TOTAL_CHARACTERS: Final = 32_000
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_RESERVED: Final = frozenset(
    # Framing and hop-by-hop headers: setting them would allow request smuggling.
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def check_name(name: object) -> str:
    if not isinstance(name, str) or _TOKEN.fullmatch(name) is None:
        raise refuse("header_name", name=name)
    if name.lower() in _RESERVED or name.lower().startswith("proxy-"):
        raise refuse("header_reserved", name=name)
    return name


def check_headers(headers: Mapping[str, str]) -> Headers:
    """Return the checked headers; raises a refusal for invalid, reserved, duplicate or too many of them."""
    size = sum(len(name) + len(value) for name, value in headers.items())
    if len(headers) > MAX_HEADERS or size > MAX_TOTAL_CHARACTERS:
        raise refuse(
            "too_many_headers", count=len(headers), size=size, most=MAX_HEADERS, most_size=MAX_TOTAL_CHARACTERS
        )
    seen: set[str] = set()
    for name, value in headers.items():
        check_name(name)
        _check_value(name, value)
        if name.lower() in seen:
            raise refuse("header_name", name=name)
        seen.add(name.lower())
    return tuple(headers.items())


def _check_value(name: str, value: str) -> None:
    if len(value) > MAX_VALUE_LENGTH or not _is_one_line(value):
        raise refuse("header_value", name=name, most=MAX_VALUE_LENGTH)


def _is_one_line(value: str) -> bool:
    return value.replace("\t", "").isprintable() and value == value.strip()
