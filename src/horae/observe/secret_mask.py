"""What must never stand in a log: tokens, passwords, keys. What looks like one is hidden, wherever it came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

HIDDEN: Final = "***"
_END: Final = r"[^\s\"'\\,;&)}\]]"
_SHAPES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # Our own tokens: the id may be seen, what proves it may not.
    (re.compile(r"\b(horae_[0-9A-Za-z]+_)[0-9A-Za-z_-]{8,}"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(whsec_)[0-9A-Za-z+/=_-]+"), rf"\1{HIDDEN}"),
    # What proves that somebody was asked, and what other things are signed with.
    (re.compile(r"\b[0-9a-f]{64,}\b"), HIDDEN),
    (re.compile(rf"\b(Bearer|Basic|Token)\s+{_END}{{6,}}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    # `scheme://name:password@host`
    (re.compile(r"(\w[\w+.-]*://)[^\s/@\"'\\]*@"), rf"\1{HIDDEN}@"),
    (
        re.compile(
            r"([\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization|cookie|signature)[\w-]*"
            rf"[\"']?\s*[=:]\s*[\"']?)(?!(?:Bearer|Basic|Token)\b)({_END}+)",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL), HIDDEN),
)
_NAMES: Final = re.compile(r"password|passwd|secret|token|api[_-]?key|authorization|cookie|signature", re.IGNORECASE)
_DEEPEST: Final = 6


def masked_text(text: str) -> str:
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


def masked_value(value: Any, depth: int = 0) -> Any:
    """The same for whatever is to become JSON; what is called like a secret is one, whatever it looks like."""
    if isinstance(value, str):
        return masked_text(value)
    if depth > _DEEPEST or value is None or isinstance(value, bool | int | float):
        return value if depth <= _DEEPEST else HIDDEN
    if isinstance(value, Mapping):
        return {
            str(name): HIDDEN if _NAMES.search(str(name)) else masked_value(each, depth + 1)
            for name, each in value.items()
        }
    if isinstance(value, bytes | bytearray):
        return masked_text(repr(bytes(value)))
    if isinstance(value, Sequence | set | frozenset):
        return [masked_value(each, depth + 1) for each in value]
    return masked_text(repr(value))
