"""Cursor pagination: encodes a list position as a cursor signed (HMAC) for one caller, path and filter, and decodes it."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from ..model.accounts.principal import Principal
from ..model.page import Page
from .refusals import refuse
from .request_context import app_context
from .responses import JSON, encode_json, json_response

_T = TypeVar("_T")
_PURPOSE: Final = b"horae cursor 1\n"
_SIGNATURE_BYTES: Final = 12


def decode_cursor(request: Request, principal: Principal, cursor: str | None) -> str | None:
    """Check a cursor's signature and return the position that it holds; None without a cursor. A cursor of another
    caller, path or filter is refused as `bad_cursor`."""
    if cursor is None:
        return None
    try:
        raw = urlsafe_b64decode(cursor[:1_000].encode("ascii") + b"=" * (-len(cursor[:1_000]) % 4))
        signature, after = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        text = after.decode()
    except ValueError:
        raise refuse("bad_cursor") from None
    if not hmac.compare_digest(signature, _sign(request, principal, after)):
        raise refuse("bad_cursor")
    return text


def page_response(
    request: Request, principal: Principal, page: Page[_T], render: Callable[[_T], Any], **more: Any
) -> Response:
    """Respond with `{items, next_cursor}` and a `Link` header to the next page."""
    next_cursor = None if page.after is None else encode_cursor(request, principal, page.after)
    shape = {"items": [render(each) for each in page.items], "next_cursor": next_cursor, **more}
    return json_response(shape, headers=None if next_cursor is None else {"Link": _link(request, next_cursor)})


def page_response_of_json(
    request: Request, principal: Principal, page: Page[_T], render: Callable[[_T], bytes], **more: Any
) -> Response:
    """Same as `page_response` for items that are rendered as JSON bytes."""
    next_cursor = None if page.after is None else encode_cursor(request, principal, page.after)
    rest = encode_json({"next_cursor": next_cursor, **more})[1:]
    body = b'{"items":[%s],%s' % (b",".join(map(render, page.items)), rest)
    return Response(body, 200, None if next_cursor is None else {"Link": _link(request, next_cursor)}, JSON)


def encode_cursor(request: Request, principal: Principal, after: str) -> str:
    raw = after.encode()
    return urlsafe_b64encode(_sign(request, principal, raw) + raw).rstrip(b"=").decode()


def _sign(request: Request, principal: Principal, after: bytes) -> bytes:
    """Sign a position for this caller, path and filters. `limit` is not signed: the page size may change between pages."""
    filters = sorted(pair for pair in request.query_params.multi_items() if pair[0] not in ("cursor", "limit"))
    subject = repr((principal.owner_filter, principal.agent, request.scope["path"], filters)).encode(errors="replace")
    key = app_context(request).settings.secret.encode()
    return hmac.digest(key, _PURPOSE + subject + b"\n" + after, sha256)[:_SIGNATURE_BYTES]


def _link(request: Request, next_cursor: str) -> str:
    parameters = [pair for pair in request.query_params.multi_items() if pair[0] != "cursor"]
    return f'<{request.scope["path"]}?{urlencode([*parameters, ("cursor", next_cursor)])}>; rel="next"'
