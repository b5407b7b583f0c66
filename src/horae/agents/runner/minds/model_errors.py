"""Classifies HTTP responses of a model endpoint: an answer, an error to retry, one to shorten the prompt for, or a final one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

_MAX_EXCERPT: Final = 300
_RETRIED: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_TOO_LONG: Final = re.compile(
    r"context[ _](length|window|size)|maximum context|too many tokens|prompt is too long|"
    r"input is too long|reduce the length|exceeds? the .{0,30}(token|context)",
    re.IGNORECASE,
)


class FailureKind(StrEnum):
    RETRY = "retry"
    TOO_LONG = "too_long"
    FINAL = "final"


class ModelFailure(NamedTuple):
    """`after` is the number of seconds that the endpoint asks to wait."""

    kind: FailureKind
    text: str
    after: float | None = None


def read_failure(status: int, headers: Mapping[str, str], body: bytes, model: str) -> ModelFailure:
    """Describe a response that is no success; the names of headers are in lower case."""
    message, code = _error_of(body)
    said = f": {message}" if message else ""
    if status in {400, 413, 422} and (code == "context_length_exceeded" or status == 413 or _TOO_LONG.search(message)):
        return ModelFailure(FailureKind.TOO_LONG, f"the conversation is too long for the model {model}{said}")
    if status in {401, 403}:
        text = f"the model endpoint refuses the key (HTTP {status}){said}. Check the secret of the model key."
        return ModelFailure(FailureKind.FINAL, text)
    if status == 402 or code == "insufficient_quota":
        return ModelFailure(FailureKind.FINAL, f"the account of the model key has no credit left (HTTP {status}){said}")
    if status == 404:
        text = f"the model endpoint does not know the model {model} or the path (HTTP 404){said}. Check --model and --base-url."
        return ModelFailure(FailureKind.FINAL, text)
    if status in _RETRIED:
        what = "limits the rate" if status == 429 else "fails"
        return ModelFailure(
            FailureKind.RETRY, f"the model endpoint {what} (HTTP {status}){said}", _retry_after(headers)
        )
    return ModelFailure(FailureKind.FINAL, f"the model endpoint refuses the request (HTTP {status}){said}")


def _error_of(body: bytes) -> tuple[str, str]:
    """Return the message and the code of the error, as far as the body has them."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return _one_line(body.decode(errors="replace")), ""
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        return _one_line(str(error.get("message") or "")), str(error.get("code") or error.get("type") or "")
    return _one_line(str(error or "")), ""


def _one_line(text: str) -> str:
    text = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + "…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Read seconds; a date in the header is ignored, and the client's own delay is used."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
            return float(text) * unit
    return None
