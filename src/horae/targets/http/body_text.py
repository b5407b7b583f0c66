"""Encodes and decodes HTTP bodies: compact JSON out; charset decoding, masking and truncation of responses in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ...json_encoder import COMPACT, make_encoder
from ...model.limits import RESULT_BYTES
from ...outgoing.exchange import Response
from .refusals import refuse

Masker: TypeAlias = Callable[[str], str]

_encode: Final = make_encoder(COMPACT, allow_nan=False)
_CHARSET: Final = re.compile(r"charset=\"?([A-Za-z0-9_-]{1,40})")
_CHARSETS: Final = frozenset(
    # Some of Python's codecs take quadratic time; none of these does.
    {"utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "gbk", "gb2312", "gb18030", "big5", "shift_jis"}
    | {"euc-jp", "euc-kr", "koi8-r", "windows-1251", "utf-16"}
)


def dump_json(value: Any) -> str:
    """Dump JSON compactly; a lone surrogate, which cannot be sent or stored, stays an escape."""
    text = _encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def parse_stored_json(text: str, what: str) -> Any:
    """Parse JSON stored in a task; raises a refusal if it is invalid (an older version, or an edit of the database)."""
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        raise refuse("http_unreadable", what=what) from None


def parse_body(answer: Response) -> Any:
    """Return the body as parsed JSON, else as text; None when it is empty."""
    if not answer.body:
        return None
    text = _decode(answer)
    looks_like_json = "json" in answer.headers.get("content-type", "").lower() or text.lstrip()[:1] in {"{", "["}
    if answer.truncated or not looks_like_json:
        return text
    try:
        return json.loads(text, parse_constant=_raise_on_constant)
    except (ValueError, RecursionError):
        return text


def _decode(answer: Response) -> str:
    match = _CHARSET.search(answer.headers.get("content-type", "").lower())
    charset = match[1] if match is not None and match[1] in _CHARSETS else "utf-8"
    # Some stores refuse NUL.
    return answer.body.decode(charset, errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _raise_on_constant(constant: str) -> Any:
    raise ValueError(constant)


def mask_body(value: Any, hide: Masker) -> Any:
    """Mask secrets in a JSON value, also in numbers; a value nested too deeply is replaced by an ellipsis."""
    try:
        return _mask(value, hide)
    except RecursionError:
        return "…"


def _mask(value: Any, hide: Masker) -> Any:
    match value:
        case str():
            return hide(value)
        case dict():
            return {hide(name): _mask(each, hide) for name, each in value.items()}
        case list():
            return [_mask(each, hide) for each in value]
        case int() | float() if (text := json.dumps(value)) != (hidden := hide(text)):
            return hidden
        case _:
            return value


def body_to_text(body: Any) -> str:
    """Return a masked body as text."""
    return body if isinstance(body, str) else "" if body is None else dump_json(body)


def encode_result(answer: Response, hide: Masker) -> str:
    """Encode `{"status": 200, "body": …}` within the size limit; `truncated` marks a body that was cut."""
    body = mask_body(parse_body(answer), hide)
    result = dump_json({"status": answer.status, "body": body})
    if not answer.truncated and len(result.encode()) <= RESULT_BYTES:
        return result
    text = body_to_text(body)[:RESULT_BYTES]
    while True:
        result = dump_json({"status": answer.status, "body": text, "truncated": True})
        size = len(result.encode())
        if size <= RESULT_BYTES:
            return result
        text = text[: min(len(text) - 1, len(text) * RESULT_BYTES // size)]
