"""JSON responses: encodes a value with pydantic's serializer and sets the content type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json
from starlette.responses import Response

JSON: Final = "application/json"


def encode_json(value: Any) -> bytes:
    """Encode as JSON. Lone surrogates, which JSON can escape but UTF-8 cannot hold, become question marks."""
    try:
        return to_json(value, inf_nan_mode="null")
    except (PydanticSerializationError, UnicodeEncodeError):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(errors="replace")


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return raw_json_response(encode_json(value), status, headers)


def raw_json_response(text: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Respond with a body that is JSON already."""
    return Response(text, status, dict(headers) if headers else None, JSON)


def no_content() -> Response:
    return Response(status_code=204)
