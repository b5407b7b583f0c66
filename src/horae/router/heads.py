"""Heads of forwarded messages: targets that every reader understands alike, hop-by-hop headers, and cookies by deployment.

The cookies of a deployment get its name at their end in the browser, so that each deployment receives its own only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from starlette.types import Scope

from ..api.resources.credential_lookup import LOOKUP_PATH
from ..web.refusals import refuse as refuse_request
from ..web.trusted_proxies import FORWARDED_FOR, FORWARDED_PROTO
from ..wire.accounts import DEPLOYMENT_HEADER
from .refusals import refuse

Headers = list[tuple[str, str]]
RawHeaders = Sequence[tuple[bytes, bytes]]
DEPLOYMENT_COOKIE: Final = "horae_deployment"
"""Deployment of the console that the browser shows; it is a choice and no right."""
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"expect",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_FROM_PROXIES: Final = frozenset(
    {b"forwarded", FORWARDED_FOR, b"x-forwarded-host", FORWARDED_PROTO, b"x-forwarded-port", b"x-real-ip", b"via"}
)
"""Headers about the way of a request; those of the client are dropped, since anyone can write them."""
_DEPLOYMENT: Final = DEPLOYMENT_HEADER.lower().encode()
_WRITTEN_HERE: Final = frozenset({b"cookie", b"x-request-id", _DEPLOYMENT})
_NOT_FORWARDED: Final = _HOP_BY_HOP | _FROM_PROXIES | _WRITTEN_HERE
_NOT_RETURNED: Final = _HOP_BY_HOP | {b"date", b"server", b"x-request-id", _DEPLOYMENT}
_INTERNAL: Final = LOOKUP_PATH.split("/")[1]
_UNSAFE: Final = frozenset("\\#? ")


def read_target(scope: Scope) -> str:
    """Return path and query as they came; refuses a path that a deployment could read in another way than the router."""
    raw = scope["raw_path"].decode("latin-1")
    segments = scope["path"].split("/")
    is_plain = raw.startswith("/") and raw.isascii() and raw.isprintable() and _UNSAFE.isdisjoint(raw)
    if not is_plain or "\\" in scope["path"] or not scope["path"].isprintable() or {".", ".."} & set(segments):
        raise refuse("bad_target")
    if segments[1] == _INTERNAL:
        raise refuse_request("no_such_path", path=scope["path"])
    query = scope["query_string"].decode("latin-1")
    return f"{raw}?{query}" if query else raw


def request_headers(scope: Scope, request_id: str, deployment: str) -> Headers:
    """Return the headers for a deployment, with the client's address as the router knows it."""
    dropped = _NOT_FORWARDED | _named_by_connection(scope["headers"])
    headers = [(_text(name), _text(value)) for name, value in scope["headers"] if name not in dropped]
    cookies = _cookies_of(scope["headers"], deployment)
    if cookies:
        headers.append(("cookie", "; ".join(cookies)))
    client = scope.get("client")
    headers.append((_text(FORWARDED_FOR), "unknown" if client is None else client[0]))
    headers.append((_text(FORWARDED_PROTO), "https" if scope["scheme"] in ("https", "wss") else "http"))
    headers.append(("x-request-id", request_id))
    headers.append((_text(_DEPLOYMENT), deployment))
    return headers


def websocket_headers(scope: Scope, request_id: str, deployment: str) -> Headers:
    """Return the headers of a handshake: those of WebSockets are written by each connection itself."""
    headers = request_headers(scope, request_id, deployment)
    return [each for each in headers if not each[0].startswith("sec-websocket-")]


def response_headers(raw: RawHeaders, deployment: str) -> list[tuple[bytes, bytes]]:
    lower = [(name.lower(), value) for name, value in raw]
    dropped = _NOT_RETURNED | _named_by_connection(lower)
    return [
        (name, _with_deployment(value, deployment) if name == b"set-cookie" else value)
        for name, value in lower
        if name not in dropped
    ]


def deployment_header(deployment: str) -> tuple[bytes, bytes]:
    return _DEPLOYMENT, deployment.encode()


def deployment_cookie(deployment: str, *, is_secure: bool) -> tuple[bytes, bytes]:
    """Return the header that lets the browser show the console of this deployment."""
    secure = "; Secure" if is_secure else ""
    text = f"{DEPLOYMENT_COOKIE}={deployment}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}"
    return b"set-cookie", text.encode()


def chosen_deployments(headers: RawHeaders) -> tuple[str | None, list[str]]:
    """Return the deployment that the browser shows, and those of which it has cookies."""
    chosen, named = None, set()
    for name, value in _read_cookies(headers):
        if name == DEPLOYMENT_COOKIE:
            chosen = value
        elif "." in name:
            named.add(name.rpartition(".")[2])
    return chosen, sorted(named)


def _cookies_of(headers: RawHeaders, deployment: str) -> list[str]:
    ending = f".{deployment}"
    return [f"{name.removesuffix(ending)}={value}" for name, value in _read_cookies(headers) if name.endswith(ending)]


def _read_cookies(headers: RawHeaders) -> Iterable[tuple[str, str]]:
    for header, text in headers:
        if header == b"cookie":
            for part in _text(text).split(";"):
                name, equals, value = part.strip().partition("=")
                if equals:
                    yield name.strip(), value.strip()


def _with_deployment(cookie: bytes, deployment: str) -> bytes:
    name, equals, rest = cookie.partition(b"=")
    return name.strip() + b"." + deployment.encode() + equals + rest


def _named_by_connection(headers: RawHeaders) -> frozenset[bytes]:
    """Return the headers that the sender means for this connection only."""
    values = [value for name, value in headers if name == b"connection"]
    return frozenset(part.strip().lower() for value in values for part in value.split(b","))


def _text(value: Any) -> str:
    return bytes(value).decode("latin-1")
