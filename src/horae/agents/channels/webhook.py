"""ASGI endpoint for the callbacks of chat services: limits the body, and passes its raw bytes on for the signature check."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from ...errors import Refusal
from ...ports.channel import AsgiReceive, AsgiSend, Scope

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
_MAX_QUERY_FIELDS: Final = 50


class WebhookRequest(NamedTuple):
    """`headers` are keyed by lower-case name; `body` is as it arrived, because signatures are of the bytes."""

    method: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """Return the body as a JSON object; None if it is none."""
        return read_json_object(self.body)


class WebhookAnswer(NamedTuple):
    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> WebhookAnswer:
        return cls(200, json.dumps(document).encode(), "application/json")


ACCEPTED: Final = WebhookAnswer(200)
BAD_REQUEST: Final = WebhookAnswer(400, b"bad request")
UNSIGNED: Final = WebhookAnswer(401, b"bad signature")
FORBIDDEN: Final = WebhookAnswer(403, b"forbidden")
NOT_READY: Final = WebhookAnswer(503, b"not connected")
"""The service repeats its call later."""
_TOO_LARGE: Final = WebhookAnswer(413, b"too large")
_WRONG_METHOD: Final = WebhookAnswer(405, b"method not allowed")


async def serve_webhook(
    scope: Scope,
    receive: AsgiReceive,
    send: AsgiSend,
    answer: Callable[[WebhookRequest], Awaitable[WebhookAnswer]],
    max_bytes: int = MAX_BODY_BYTES,
) -> None:
    """Serve one HTTP request; other kinds of connections are not answered."""
    if scope["type"] != "http":
        return
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    method = str(scope["method"])
    if method not in {"GET", "POST"}:
        await _respond(send, _WRONG_METHOD)
        return
    body = await _read_body(receive, headers.get("content-length", ""), max_bytes)
    if isinstance(body, WebhookAnswer):
        await _respond(send, body)
    elif body is not None:
        request = WebhookRequest(method, _read_query(scope.get("query_string", b"")), headers, body)
        try:
            await _respond(send, await answer(request))
        except Refusal:
            # A secret cannot be read now: nothing can be checked.
            await _respond(send, NOT_READY)


async def _read_body(receive: AsgiReceive, length: str, max_bytes: int) -> bytes | WebhookAnswer | None:
    """Return the body; None if the client has gone."""
    if length.isdecimal() and (len(length) > 12 or int(length) > max_bytes):
        return _TOO_LARGE
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        body += event.get("body", b"")
        if len(body) > max_bytes:
            return _TOO_LARGE
        if not event.get("more_body", False):
            return bytes(body)


def _read_query(query: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_QUERY_FIELDS))
    except ValueError:
        return {}


async def _respond(send: AsgiSend, answer: WebhookAnswer) -> None:
    headers = [
        (b"content-type", answer.content_type.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def read_json_object(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
