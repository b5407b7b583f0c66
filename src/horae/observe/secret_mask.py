"""Masks secrets (tokens, passwords, keys) in log lines by pattern, whatever their source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

MASK: Final = "***"
_VALUE_CHARACTER: Final = r"[^\s\"'\\,;&)}\]]"
_PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # Horae tokens: the id stays visible, the secret part is masked.
    (re.compile(r"\b(horae_[0-9A-Za-z]+_)[0-9A-Za-z_-]{8,}"), rf"\1{MASK}"),
    (re.compile(r"\b(whsec_)[0-9A-Za-z+/=_-]+"), rf"\1{MASK}"),
    # Callback tokens and signatures.
    (re.compile(r"\b[0-9a-f]{64,}\b"), MASK),
    (re.compile(rf"\b(Bearer|Basic|Token)\s+{_VALUE_CHARACTER}{{6,}}", re.IGNORECASE), rf"\1 {MASK}"),
    # `scheme://name:password@host`
    (re.compile(r"(\w[\w+.-]*://)[^\s/@\"'\\]*@"), rf"\1{MASK}@"),
    (
        re.compile(
            r"([\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization|cookie|signature)[\w-]*"
            rf"[\"']?\s*[=:]\s*[\"']?)(?!(?:Bearer|Basic|Token)\b)({_VALUE_CHARACTER}+)",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL), MASK),
)
_SECRET_NAMES: Final = re.compile(
    r"password|passwd|secret|token|api[_-]?key|authorization|cookie|signature", re.IGNORECASE
)
_MAX_DEPTH: Final = 6


def mask_text(text: str) -> str:
    """Return the text with everything that looks like a secret masked."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def mask_value(value: Any, depth: int = 0) -> Any:
    """Mask a value for JSON, recursively; a value under a name like `password` is masked whatever it looks like."""
    if isinstance(value, str):
        return mask_text(value)
    if depth > _MAX_DEPTH or value is None or isinstance(value, bool | int | float):
        return value if depth <= _MAX_DEPTH else MASK
    if isinstance(value, Mapping):
        return {
            str(name): MASK if _SECRET_NAMES.search(str(name)) else mask_value(each, depth + 1)
            for name, each in value.items()
        }
    if isinstance(value, bytes | bytearray):
        return mask_text(repr(bytes(value)))
    if isinstance(value, Sequence | set | frozenset):
        return [mask_value(each, depth + 1) for each in value]
    return mask_text(repr(value))
