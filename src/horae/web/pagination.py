"""Pages that nobody can make up: a cursor says where to go on, and proves that we gave it out for this very question."""

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
from .request_context import house_of
from .responses import JSON, answer, encoded

_T = TypeVar("_T")
_PURPOSE: Final = b"horae cursor 1\n"
_PROOF: Final = 12
LARGEST_LIMIT: Final = 200


def read_cursor(request: Request, who: Principal, cursor: str | None) -> str | None:
    """Where the page before ended; None at the beginning."""
    if cursor is None:
        return None
    try:
        raw = urlsafe_b64decode(cursor[:1_000].encode("ascii") + b"=" * (-len(cursor[:1_000]) % 4))
        proof, after = raw[:_PROOF], raw[_PROOF:]
        text = after.decode()
    except ValueError:
        raise refuse("bad_cursor") from None
    if not hmac.compare_digest(proof, _proof(request, who, after)):
        raise refuse("bad_cursor")
    return text


def page_answer(request: Request, who: Principal, page: Page[_T], shown: Callable[[_T], Any], **more: Any) -> Response:
    """`{items, next_cursor}`, and where the next page is as a link."""
    following = None if page.after is None else make_cursor(request, who, page.after)
    shape = {"items": [shown(each) for each in page.items], "next_cursor": following, **more}
    return answer(shape, headers=None if following is None else {"Link": _link(request, following)})


def page_of_texts(
    request: Request, who: Principal, page: Page[_T], written: Callable[[_T], bytes], **more: Any
) -> Response:
    """The same where each item is JSON already."""
    following = None if page.after is None else make_cursor(request, who, page.after)
    rest = encoded({"next_cursor": following, **more})[1:]
    whole = b'{"items":[%s],%s' % (b",".join(map(written, page.items)), rest)
    return Response(whole, 200, None if following is None else {"Link": _link(request, following)}, JSON)


def make_cursor(request: Request, who: Principal, after: str) -> str:
    raw = after.encode()
    return urlsafe_b64encode(_proof(request, who, raw) + raw).rstrip(b"=").decode()


def _proof(request: Request, who: Principal, after: bytes) -> bytes:
    """It holds for the same caller, path and filters, and for nothing else; how many are wanted at once may change."""
    asked = sorted(pair for pair in request.query_params.multi_items() if pair[0] not in ("cursor", "limit"))
    about = repr((who.scope, who.agent, request.scope["path"], asked)).encode(errors="replace")
    key = house_of(request).settings.secret.encode()
    return hmac.digest(key, _PURPOSE + about + b"\n" + after, sha256)[:_PROOF]


def _link(request: Request, following: str) -> str:
    asked = [pair for pair in request.query_params.multi_items() if pair[0] != "cursor"]
    return f'<{request.scope["path"]}?{urlencode([*asked, ("cursor", following)])}>; rel="next"'
