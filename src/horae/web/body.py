"""Request bodies as strict JSON, limited in size, depth and arrival time: duplicate keys, NaN and infinities are
refused because parsers disagree on them."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from ..errors import Refusal
from .refusals import refuse
from .request_context import app_context

MAX_BODY_BYTES: Final = 1_048_576
MAX_JSON_DEPTH: Final = 64
_EMPTY_BODY: Final = "it is empty"


async def read_body(request: Request) -> bytes:
    """Read the whole body once per request; later calls return the cached bytes. Refuses a body over the size limit
    (413) or one that does not arrive in time (408)."""
    cached: bytes | None = request.scope["state"].get("body")
    if cached is not None:
        return cached
    content_length = request.headers.get("content-length", "0")
    if content_length.isdecimal() and int(content_length[:12]) > MAX_BODY_BYTES:
        raise refuse("body_too_large", most=MAX_BODY_BYTES)
    try:
        async with asyncio.timeout(app_context(request).settings.body_seconds):
            body = await _receive_all(request)
    except TimeoutError:
        raise refuse("slow_body", seconds=f"{app_context(request).settings.body_seconds:g}") from None
    request.scope["state"]["body"] = body
    return body


async def _receive_all(request: Request) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > MAX_BODY_BYTES:
            raise refuse("body_too_large", most=MAX_BODY_BYTES)
    return b"".join(parts)


async def read_json_body(request: Request) -> Any:
    """Parse the body as one JSON value; an empty body is refused."""
    body = await read_body(request)
    if not body.strip():
        raise refuse("not_json", problem=_EMPTY_BODY)
    return _parse_json(request, body)


async def read_optional_json_body(request: Request) -> Any:
    """Parse the body as one JSON value; None if it is empty."""
    body = await read_body(request)
    return _parse_json(request, body) if body.strip() else None


def _parse_json(request: Request, body: bytes) -> Any:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise refuse("not_json_type", type=kind)
    return parse_strict_json(body)


def parse_strict_json(body: bytes) -> Any:
    """Parse UTF-8 JSON. Raises the refusals `not_json` and `not_strict_json`."""
    try:
        text = body.decode()
        value = _DECODER.decode(text)
    except UnicodeDecodeError:
        raise refuse("not_json", problem="it is not UTF-8") from None
    except RecursionError:
        raise _too_deep() from None
    except Refusal:
        raise
    except ValueError as error:
        raise refuse("not_json", problem=str(error).partition(": line")[0]) from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and _is_deep(value):
        raise _too_deep()
    return value


def _object_with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        seen: set[str] = set()
        duplicate = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise refuse("not_strict_json", problem=f"'{duplicate[:40]}' is there twice", most=MAX_JSON_DEPTH)
    return parsed


def _refuse_constant(name: str) -> Any:
    raise refuse("not_strict_json", problem=f"{name} is no number", most=MAX_JSON_DEPTH)


def _parse_finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise refuse("not_strict_json", problem=f"{text[:20]} is too large a number", most=MAX_JSON_DEPTH)
    return number


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object_with_unique_keys, parse_constant=_refuse_constant, parse_float=_parse_finite_float
)
"""Built once: `json.loads` with hooks builds a new decoder for every text."""


def _is_deep(value: Any) -> bool:
    """Return whether `value` is nested deeper than the limit. Walks level by level, so it needs no recursion itself."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _too_deep() -> Refusal:
    return refuse("not_strict_json", problem="it is nested too deep", most=MAX_JSON_DEPTH)
