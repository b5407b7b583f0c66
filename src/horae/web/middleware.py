"""Around every request: its id, the headers that every answer has, HEAD, and the last catch for what went wrong."""

from __future__ import annotations

import logging
import re
from itertools import count
from secrets import token_hex
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem
from .rate_limit import Allowance
from .refusals import refuse

LOG: Final = logging.getLogger("horae.web")
_OURS: Final = f"req_{token_hex(6)}"
"""Of this process alone: chance once, then counted, since asking for chance costs more than all else here."""
_COUNTER: Final = count(1)
_SANE: Final = re.compile(rb"[A-Za-z0-9._:-]{1,64}")
_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


class Envelope:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        letter = _Letter(scope, send)
        hosts = sum(name == b"host" for name, _ in scope["headers"])
        if hosts != 1 and not (hosts == 0 and scope["http_version"] == "1.0"):
            # Whoever stands in front may have read the other one.
            refused = problem(Request(letter.scope), refuse("bad_host", number=hosts))
            await refused(letter.scope, receive, letter.send)
            return
        try:
            await self._app(letter.scope, receive, letter.send)
        except ClientDisconnect:
            LOG.debug("%s went away", letter.id)
        except Exception:
            LOG.exception("%s %s %s failed", letter.id, scope["method"], scope["path"])
            if letter.begun:
                raise
            await problem(Request(letter.scope), refuse("internal_error"))(letter.scope, receive, letter.send)


class _Letter:
    """One request and its answer on the way out."""

    def __init__(self, scope: Scope, send: Send) -> None:
        said = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        self.id = said.decode() if said and _SANE.fullmatch(said) else f"{_OURS}{next(_COUNTER):06x}"
        self.begun = False
        self._send = send
        self._headless = scope["method"] == "HEAD"
        # Whoever may ask for something may ask for its headers; the server itself leaves the body out.
        self.scope = {**scope, "method": "GET"} if self._headless else scope
        self.scope.setdefault("state", {})["request_id"] = self.id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._dress(message)
            self.begun = True
        elif self._headless and message.get("more_body"):
            await self._send({**message, "more_body": False})
            # Nobody listens: a stream has to end.
            raise ClientDisconnect
        await self._send(message)

    def _dress(self, message: Message) -> None:
        headers = message.setdefault("headers", [])
        there = {name.lower() for name, _ in headers}
        headers += [each for each in _ALWAYS if each[0] not in there]
        headers.append((b"x-request-id", self.id.encode()))
        left: Allowance | None = self.scope["state"].get("allowance")
        if left is not None:
            headers.append((b"ratelimit-policy", b'"default";q=%d;w=60' % left.most))
            headers.append((b"ratelimit", b'"default";r=%d;t=%d' % (left.left, left.full_in)))
