"""Chats of groups: list, transcript, messages of the web channel, and a stream of what happens in a chat."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....model.messages import PAGE_MESSAGES
from ....model.refusals import refuse
from ....service.chats.chats import Chats
from ....web.authentication import bearer_token
from ....web.event_format import SSE
from ....web.event_streams import Credential
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path, Query
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.chats import chat_json, transcript_json
from ...chat_events import ChatEventResponse
from ...openapi import Operation
from ...parameters import Cursor, DryRun, Limit, service_for

routes: Final = RouteGroup("/v1/chats", "chats")

Chat = Annotated[str, Path(max_length=200, description="Address of a chat: `web:family`, `telegram:-100`.")]
AfterNumber = Annotated[
    int | None,
    Query(minimum=0, maximum=2**53, description="Only messages with a higher number; without it, the newest."),
]
PageLimit = Annotated[int, Query(minimum=1, maximum=PAGE_MESSAGES, description="How many at once.")]
_MESSAGE: Final = {"text": "@Andy what is on today?", "id": "m-1"}
_LAST_EVENT_ID: Final = "last-event-id"
_MAX_DIGITS: Final = 15


def _chats(request: Request, *, dry_run: bool = False) -> Chats:
    return service_for(request, dry_run=dry_run).chats


@routes.get("", Operation("list_chats", "Chats of groups, each with its last message", "ChatPage"))
async def list_chats(request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    after = decode_cursor(request, principal, cursor)
    return page_response(request, principal, await _chats(request).page(principal, after, limit), chat_json)


@routes.get("/{chat}", Operation("get_chat", "Messages of a chat, oldest first", "Transcript", problems=(404,)))
async def get_chat(
    request: Request, principal: Principal, chat: Chat, *, after: AfterNumber = None, limit: PageLimit = 50
) -> Response:
    return json_response(transcript_json(await _chats(request).transcript(principal, chat, after, limit)))


@routes.post(
    "/{chat}/messages",
    Operation(
        "send_chat_message",
        "Write a message in a web chat; returns its number",
        "ChatMessageSent",
        status=201,
        problems=(404, 409),
    ),
)
async def send_chat_message(
    request: Request,
    principal: Principal,
    chat: Chat,
    body: Annotated[Any, Body("NewChatMessage", "message", example=_MESSAGE)],
    *,
    dry_run: DryRun = False,
) -> Response:
    number = await _chats(request, dry_run=dry_run).send(
        principal, chat, body.get("text"), message_id=body.get("id"), sender_name=body.get("sender_name")
    )
    return json_response({"chat": chat, "number": number}, 201)


@routes.get(
    "/{chat}/events",
    Operation(
        "stream_chat",
        "What happens in a chat, as server-sent events",
        None,
        problems=(404,),
        media_type=SSE,
        description=(
            "The stream does not end. `message` has a message of the transcript, and its number as id; `delivery` has the id"
            " and the state of a delivery; `working` says whether the agent works. A comment comes every 15 seconds."
        ),
    ),
)
async def stream_chat(request: Request, principal: Principal, chat: Chat, *, after: AfterNumber = None) -> Response:
    context = app_context(request)
    group = await _chats(request).get(principal, chat)
    credential = Credential(bearer_token(request))
    return ChatEventResponse(context.tail, context.service, principal, credential, group, _position(request, after))


def _position(request: Request, after: int | None) -> int | None:
    header = request.headers.get(_LAST_EVENT_ID, "").strip()
    if not header:
        return after
    if not (header.isascii() and header.isdecimal() and len(header) <= _MAX_DIGITS):
        raise refuse("bad_number", name="Last-Event-ID", value=header, least=0, most=10**_MAX_DIGITS)
    return int(header)
