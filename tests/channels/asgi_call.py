"""Calls an ASGI application in memory with raw bytes, as a web server would after a request has arrived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from horae.ports.channel import WebhookChannel


class Answer(NamedTuple):
    status: int
    body: bytes


async def call_webhook(
    channel: WebhookChannel,
    method: str,
    body: bytes = b"",
    *,
    headers: Mapping[str, str] | None = None,
    query: str = "",
    chunk: int = 65_536,
) -> Answer:
    """Send a request in chunks, and return the answer; status 0 if there was none."""
    chunks = [body[start : start + chunk] for start in range(0, len(body), chunk)] or [b""]
    events: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

    async def send(event: dict[str, Any]) -> None:
        events.append(event)

    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    scope = {"type": "http", "method": method, "path": "/", "query_string": query.encode(), "headers": raw}
    await channel.webhook(scope, receive, send)
    if not events:
        return Answer(0, b"")
    return Answer(events[0]["status"], b"".join(event.get("body", b"") for event in events[1:]))
