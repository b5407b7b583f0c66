"""What came as JSON: bounded in size and depth, read strictly, so that no two readers could disagree about it."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from ..errors import Refusal
from .refusals import refuse
from .request_context import house_of

LARGEST: Final = 1_048_576
DEEPEST: Final = 64
_ABSENT: Final = "it is empty"


async def raw_body(request: Request) -> bytes:
    """All of it, as soon as it is known that it is not too much."""
    kept: bytes | None = request.scope["state"].get("body")
    if kept is not None:
        return kept
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said[:12]) > LARGEST:
        raise refuse("body_too_large", most=LARGEST)
    try:
        async with asyncio.timeout(house_of(request).settings.body_seconds):
            body = await _received(request)
    except TimeoutError:
        raise refuse("slow_body", seconds=f"{house_of(request).settings.body_seconds:g}") from None
    request.scope["state"]["body"] = body
    return body


async def _received(request: Request) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > LARGEST:
            raise refuse("body_too_large", most=LARGEST)
    return b"".join(parts)


async def json_body(request: Request) -> Any:
    """The one JSON value that the body is."""
    body = await raw_body(request)
    if not body.strip():
        raise refuse("not_json", problem=_ABSENT)
    return _checked(request, body)


async def json_body_or_none(request: Request) -> Any:
    """The same where a body may be left out."""
    body = await raw_body(request)
    return _checked(request, body) if body.strip() else None


def _checked(request: Request, body: bytes) -> Any:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise refuse("not_json_type", type=kind)
    return strict_json(body)


def strict_json(body: bytes) -> Any:
    try:
        text = body.decode()
        value = _STRICT.decode(text)
    except UnicodeDecodeError:
        raise refuse("not_json", problem="it is not UTF-8") from None
    except RecursionError:
        raise _too_deep() from None
    except Refusal:
        raise
    except ValueError as error:
        raise refuse("not_json", problem=str(error).partition(": line")[0]) from None
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(value):
        raise _too_deep()
    return value


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise refuse("not_strict_json", problem=f"'{twice[:40]}' is there twice", most=DEEPEST)
    return found


def _no_constant(name: str) -> Any:
    raise refuse("not_strict_json", problem=f"{name} is no number", most=DEEPEST)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise refuse("not_strict_json", problem=f"{text[:20]} is too large a number", most=DEEPEST)
    return number


_STRICT: Final = json.JSONDecoder(object_pairs_hook=_named_once, parse_constant=_no_constant, parse_float=_finite)
"""Made once: `json.loads` makes a new one for every text."""


def _is_deep(value: Any) -> bool:
    """Level by level, so that nothing here is as deep as what it looks at."""
    level = [value]
    for _ in range(DEEPEST):
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
    return refuse("not_strict_json", problem="it is nested too deep", most=DEEPEST)
