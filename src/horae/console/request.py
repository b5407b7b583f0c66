"""Requests of the console: the session cookie, URL-encoded forms, and the CSRF and Origin checks of every POST."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from hmac import compare_digest
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from ..model.accounts.session import ABSOLUTE_LIMIT
from ..service.accounts.sessions import csrf_token
from ..web.body import read_body
from ..wire.instants import parse_instant
from .refusals import refuse

SESSION_COOKIE: Final = "horae_session"
CSRF_FIELD: Final = "csrf"
NEXT_FIELD: Final = "next"
_FORM: Final = "application/x-www-form-urlencoded"
_MAX_FIELDS: Final = 2_000
_SAME_SITE: Final = frozenset({"same-origin", "none"})


class Form(Mapping[str, str]):
    """Fields of a form. A field that was sent several times has its last value; `all` returns every value."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs
        self._last = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return self._last[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def text(self, name: str) -> str:
        """Return the value without surrounding space; empty if it is missing."""
        return self._last.get(name, "").strip()

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def instant(self, name: str) -> datetime:
        """Return an instant with an offset. Raises `bad_form_field`."""
        try:
            return parse_instant(self.text(name))
        except ValueError:
            raise refuse("bad_form_field", name=name, value=self.text(name)[:80]) from None


async def read_form(request: Request) -> Form:
    """Parse the body as a URL-encoded form. Raises `not_a_form`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise refuse("not_a_form", type=kind or "-")
    try:
        body = (await read_body(request)).decode()
        pairs = parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except (UnicodeDecodeError, ValueError):
        raise refuse("not_a_form", type=kind) from None
    return Form([(name, value.replace("\r\n", "\n")) for name, value in pairs])


def session_cookie(request: Request) -> str:
    return request.cookies.get(SESSION_COOKIE, "")


def check_origin(request: Request) -> None:
    """Refuse a POST that another site made: `Origin` has to name this host; a browser without one says `Sec-Fetch-Site`."""
    origin = request.headers.get("origin")
    if origin is None:
        allowed = request.headers.get("sec-fetch-site", "") in _SAME_SITE
    else:
        allowed = urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    if not allowed:
        raise refuse("foreign_form", origin=origin or "-")


def check_csrf(request: Request, form: Form) -> None:
    """Refuse a form that did not come from a page of this session."""
    if not compare_digest(form.get(CSRF_FIELD, "").encode(), csrf_token(session_cookie(request)).encode()):
        raise refuse("form_outdated")


def set_session_cookie(request: Request, response: Response, cookie: str, *, is_secure: bool | None = None) -> None:
    """Set the cookie of a session. `is_secure`: whether the browser uses HTTPS, where the request does not say so."""
    response.set_cookie(
        SESSION_COOKIE,
        cookie,
        max_age=int(ABSOLUTE_LIMIT.total_seconds()),
        path=cookie_path(request),
        secure=is_encrypted(request) if is_secure is None else is_secure,
        httponly=True,
        samesite="strict",
    )


def drop_session_cookie(request: Request, response: Response) -> None:
    response.delete_cookie(
        SESSION_COOKIE, cookie_path(request), secure=is_encrypted(request), httponly=True, samesite="strict"
    )


def is_encrypted(request: Request) -> bool:
    """Whether the browser uses HTTPS, also to a proxy that passes requests on without it: then `Origin` still says so."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def set_preference(request: Request, response: Response, name: str, value: str) -> None:
    """Store a choice of the viewer (language, zone, theme) in the browser for a year."""
    response.set_cookie(name, value, max_age=31_536_000, path=cookie_path(request), httponly=True, samesite="strict")


def cookie_path(request: Request) -> str:
    return request.scope.get("root_path") or "/"


def local_path(text: str, base: str) -> str:
    """Return a path of the console to go on with; the landing page for everything else, other hosts in particular."""
    parts = urlsplit(text)
    is_local = not parts.scheme and not parts.netloc and "\\" not in text and text.startswith(f"{base}/")
    return text if is_local and text.isprintable() and not text.startswith("//") else f"{base}/"
