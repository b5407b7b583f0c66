"""JSON and text, in and out: what endpoints send is foreign, and what is kept of it is bounded and shows no secret."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ...model.limits import RESULT_BYTES
from ...outgoing.exchange import Answer
from .refusals import refuse

Hide: TypeAlias = Callable[[str], str]

_written: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""Made once: `json.dumps` makes a new one for every text."""
_CHARSET: Final = re.compile(r"charset=\"?([A-Za-z0-9_-]{1,40})")
_CHARSETS: Final = frozenset(
    # Some of Python's codecs take time that grows with the square of a text; none of these does.
    {"utf-8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "gbk", "gb2312", "gb18030", "big5", "shift_jis"}
    | {"euc-jp", "euc-kr", "koi8-r", "windows-1251", "utf-16"}
)


def dumped(value: Any) -> str:
    """Compact; half of a surrogate pair, which nothing takes, stays an escape."""
    text = _written(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text


def stored(text: str, what: str) -> Any:
    """What a task holds. An older version may have written it, or somebody's hand."""
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        raise refuse("http_unreadable", what=what) from None


def body_of(answer: Answer) -> Any:
    """The JSON that it says, its text otherwise; None when there is nothing."""
    if not answer.body:
        return None
    text = _decoded(answer)
    looks = "json" in answer.headers.get("content-type", "").lower() or text.lstrip()[:1] in {"{", "["}
    if answer.truncated or not looks:
        return text
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def _decoded(answer: Answer) -> str:
    named = _CHARSET.search(answer.headers.get("content-type", "").lower())
    charset = named[1] if named is not None and named[1] in _CHARSETS else "utf-8"
    # A store may not take NUL.
    return answer.body.decode(charset, errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _refused(constant: str) -> Any:
    raise ValueError(constant)


def masked(value: Any, hide: Hide) -> Any:
    """The same without secrets, also where one looks like a number. What is too deep to look through is left out."""
    try:
        return _masked(value, hide)
    except RecursionError:
        return "…"


def _masked(value: Any, hide: Hide) -> Any:
    match value:
        case str():
            return hide(value)
        case dict():
            return {hide(name): _masked(each, hide) for name, each in value.items()}
        case list():
            return [_masked(each, hide) for each in value]
        case int() | float() if (text := json.dumps(value)) != (hidden := hide(text)):
            return hidden
        case _:
            return value


def shown(body: Any) -> str:
    """A masked body as text."""
    return body if isinstance(body, str) else "" if body is None else dumped(body)


def result_of(answer: Answer, hide: Hide) -> str:
    """`{"status": 200, "body": …}` within bounds; `truncated` where the body is only the beginning of a text."""
    body = masked(body_of(answer), hide)
    result = dumped({"status": answer.status, "body": body})
    if not answer.truncated and len(result.encode()) <= RESULT_BYTES:
        return result
    text = shown(body)[:RESULT_BYTES]
    while True:
        result = dumped({"status": answer.status, "body": text, "truncated": True})
        size = len(result.encode())
        if size <= RESULT_BYTES:
            return result
        text = text[: min(len(text) - 1, len(text) * RESULT_BYTES // size)]
