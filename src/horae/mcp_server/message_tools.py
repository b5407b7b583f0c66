"""MCP tools of message streams: send a message, read messages."""

from __future__ import annotations

from typing import Final

from ..service.messages.streams import MessageDraft
from ..wire.messages import message_page_json
from .arguments import require
from .call import Arguments, Call, ToolResult
from .lines import join_rows, shorten_line
from .messages import MESSAGE_ROW, MESSAGES, NO_MESSAGES, SENT_MESSAGE

_DEFAULT_LIMIT: Final = 20


async def send_message(call: Call, arguments: Arguments) -> ToolResult:
    """Append one message to a stream of the owner."""
    stream = require(arguments, "stream")
    draft = MessageDraft(require(arguments, "text"), id=arguments.get("id"))
    (number,) = await call.service.streams.send(call.principal, stream, [draft])
    text = SENT_MESSAGE.in_language(call.language, number=number, stream=stream)
    return ToolResult({"stream": stream, "number": number}, text)


async def read_messages(call: Call, arguments: Arguments) -> ToolResult:
    """Return messages of a stream after a number; no cursor moves."""
    stream = require(arguments, "stream")
    page = await call.service.streams.messages(
        call.principal, stream, after=arguments.get("after", 0), limit=arguments.get("limit", _DEFAULT_LIMIT)
    )
    body = message_page_json(page)
    if not page.messages:
        return ToolResult(body, NO_MESSAGES.in_language(call.language, stream=stream))
    rows = [
        MESSAGE_ROW.in_language(call.language, number=number, sender=message.sender, text=shorten_line(message.text))
        for _, number, message in page.messages
    ]
    head = MESSAGES.in_language(call.language, number=len(rows), stream=stream)
    return ToolResult(body, join_rows(head, rows, call.language))
