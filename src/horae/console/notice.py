"""Notice after a form was handled: one sentence on the next page, with a form that undoes the effect where one can."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from .request import cookie_path

NOTICE_COOKIE: Final = "horae_notice"
_LIFETIME: Final = 60
"""Seconds in which the next page has to be requested."""
_MAX_BYTES: Final = 3_000
"""Browsers drop cookies above 4 kB: the undo of a long definition is then left out."""


class Undo(NamedTuple):
    """A form that reverses an effect: a path of the console, and its fields."""

    path: str
    fields: Mapping[str, str]


class Notice(NamedTuple):
    text: str
    undo: Undo | None = None


def set_notice(request: Request, response: Response, notice: Notice) -> None:
    content = _encode(notice)
    if len(content) > _MAX_BYTES:
        content = _encode(Notice(notice.text[:200]))
    secure = request.url.scheme == "https"
    path = cookie_path(request)
    response.set_cookie(NOTICE_COOKIE, content, _LIFETIME, path=path, secure=secure, httponly=True, samesite="strict")


def read_notice(request: Request) -> Notice | None:
    """Return the notice that the browser carries; a malformed one is ignored."""
    content = request.cookies.get(NOTICE_COOKIE)
    if not content:
        return None
    try:
        text, path, fields = json.loads(urlsafe_b64decode(content.encode()))
        undo = None if path is None else Undo(str(path), {str(name): str(value) for name, value in fields.items()})
        return Notice(str(text), undo)
    except (ValueError, TypeError, AttributeError, Base64Error):
        return None


def drop_notice(request: Request, response: Response) -> None:
    response.delete_cookie(NOTICE_COOKIE, cookie_path(request), httponly=True, samesite="strict")


def _encode(notice: Notice) -> str:
    path, fields = (None, {}) if notice.undo is None else (notice.undo.path, dict(notice.undo.fields))
    return urlsafe_b64encode(json.dumps([notice.text, path, fields], ensure_ascii=False).encode()).decode()
