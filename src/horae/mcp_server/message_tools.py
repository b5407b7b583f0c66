"""MCP tools of message streams and chat groups: send a message, read messages, list groups."""

from __future__ import annotations

from typing import Final

from ..service.messages.streams import MessageDraft
from ..wire.groups import group_json
from ..wire.messages import message_page_json
from .arguments import require
from .call import Arguments, Call, ToolResult
from .lines import join_rows, shorten_line
from .messages import GROUP_ROW, GROUPS, MESSAGE_ROW, MESSAGES, NO_GROUPS, NO_MESSAGES, SENT_MESSAGE, SENT_TO_CHAT

_DEFAULT_LIMIT: Final = 20
_GROUP_LIMIT: Final = 100


async def send_message(call: Call, arguments: Arguments) -> ToolResult:
    """Send a text to the chat of a group as its assistant, or append one message to a stream of the owner."""
    if "group" in arguments and "stream" not in arguments:
        sent = await call.service.chats.deliver(
            call.principal, arguments["group"], require(arguments, "text"), message_id=arguments.get("id")
        )
        text = SENT_TO_CHAT.in_language(call.language, chat=sent.group.chat, delivery=sent.delivery_id)
        return ToolResult({"stream": sent.group.stream, "number": sent.number, "delivery": sent.delivery_id}, text)
    stream = require(arguments, "stream")
    draft = MessageDraft(require(arguments, "text"), id=arguments.get("id"))
    (number,) = await call.service.streams.send(call.principal, stream, [draft])
    text = SENT_MESSAGE.in_language(call.language, number=number, stream=stream)
    return ToolResult({"stream": stream, "number": number, "delivery": None}, text)


async def read_messages(call: Call, arguments: Arguments) -> ToolResult:
    """Return messages of a stream, or of the chat of a group, after a number; no cursor moves."""
    owner = None
    if "group" in arguments and "stream" not in arguments:
        group = await call.service.groups.get(call.principal, arguments["group"])
        stream, owner = group.stream, group.owner
    else:
        stream = require(arguments, "stream")
    page = await call.service.streams.messages(
        call.principal,
        stream,
        owner=owner,
        after=arguments.get("after", 0),
        limit=arguments.get("limit", _DEFAULT_LIMIT),
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


async def list_groups(call: Call, arguments: Arguments) -> ToolResult:
    """List the chat groups that the caller may see; their chats are streams."""
    page = await call.service.groups.page(call.principal, arguments.get("cursor"), _GROUP_LIMIT)
    body = {
        "groups": [{**group_json(each), "stream": each.stream} for each in page.items],
        "next_cursor": page.after,
    }
    if not page.items:
        return ToolResult(body, NO_GROUPS.in_language(call.language))
    rows = [
        GROUP_ROW.in_language(call.language, folder=each.folder, name=shorten_line(each.name), stream=each.stream)
        for each in page.items
    ]
    return ToolResult(body, join_rows(GROUPS.in_language(call.language, number=len(rows)), rows, call.language))
