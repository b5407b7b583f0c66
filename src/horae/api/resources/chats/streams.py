"""Message streams: list, read, send, caps, readers. Cursors move only with the runs that handle messages."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....model.messages import PAGE_MESSAGES
from ....service.messages.streams import Streams
from ....service.tasks.task_request import read_duration
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path, Query
from ....web.responses import json_response, no_content
from ....web.routing import RouteGroup
from ....wire.fields import text_or_none
from ....wire.messages import cursor_json, message_page_json, read_drafts, stream_json, stream_state_json
from ...openapi import Operation
from ...parameters import Cursor, DryRun, Limit, service_for
from ...parameters import Owner as OwnerQuery

routes: Final = RouteGroup("/v1/streams", "streams")

StreamName = Annotated[str, Path(max_length=200, description="The name of a stream: `chat:12`.")]
ReaderName = Annotated[str, Path(max_length=100, description="The name of a reader.")]
After = Annotated[int, Query(minimum=0, maximum=2**53, description="Only messages with a higher number.")]
PageLimit = Annotated[int, Query(minimum=1, maximum=PAGE_MESSAGES, description="How many at once.")]
Reader = Annotated[str | None, Query(max_length=100, description="Only messages after the cursor of this reader.")]
_MESSAGES: Final = {"messages": [{"text": "hello", "sender": "Ada", "id": "m-1", "source": "web"}]}


def _streams(request: Request, *, dry_run: bool = False) -> Streams:
    return service_for(request, dry_run=dry_run).streams


@routes.get("", Operation("list_streams", "Message streams", "StreamPage", problems=(404,)))
async def list_streams(
    request: Request, principal: Principal, *, owner: OwnerQuery = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    return page_response(request, principal, await _streams(request).page(principal, after, limit, owner), stream_json)


@routes.get("/{name}", Operation("get_stream", "One stream with its cursors and gaps", "StreamState", problems=(404,)))
async def get_stream(request: Request, principal: Principal, name: StreamName, *, owner: OwnerQuery = None) -> Response:
    return json_response(stream_state_json(await _streams(request).get(principal, name, owner)))


@routes.put(
    "/{name}", Operation("put_stream", "A stream without messages, or other caps for one", "Stream", problems=(404,))
)
async def put_stream(
    request: Request,
    principal: Principal,
    name: StreamName,
    body: Annotated[Any, Body("StreamFields", "stream", example={"keep": 1000, "keep_for": "30d"})],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    keep_for = text_or_none("keep_for", body.get("keep_for"))
    duration = None if keep_for is None else read_duration("keep_for", keep_for)
    stream = await _streams(request, dry_run=dry_run).put(
        principal, name, owner, keep=body.get("keep"), keep_for=duration
    )
    return json_response(stream_json(stream))


@routes.delete(
    "/{name}", Operation("delete_stream", "Delete a stream with its messages", None, status=204, problems=(404,))
)
async def delete_stream(
    request: Request, principal: Principal, name: StreamName, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    await _streams(request, dry_run=dry_run).remove(principal, name, owner)
    return no_content()


@routes.get(
    "/{name}/messages",
    Operation("read_messages", "Messages in the order of their numbers; no cursor moves", "Messages", problems=(404,)),
)
async def read_messages(  # noqa: PLR0913 - each is a query parameter
    request: Request,
    principal: Principal,
    name: StreamName,
    *,
    owner: OwnerQuery = None,
    after: After = 0,
    reader: Reader = None,
    limit: PageLimit = 50,
) -> Response:
    page = await _streams(request).messages(principal, name, owner=owner, after=after, limit=limit, reader=reader)
    return json_response(message_page_json(page))


@routes.post(
    "/{name}/messages",
    Operation(
        "send_messages", "Append messages, all or none; returns their numbers", "Sent", status=201, problems=(404,)
    ),
)
async def send_messages(
    request: Request,
    principal: Principal,
    name: StreamName,
    body: Annotated[Any, Body("NewMessages", "messages", example=_MESSAGES)],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    numbers = await _streams(request, dry_run=dry_run).send(principal, name, read_drafts(body), owner)
    return json_response({"stream": name, "numbers": list(numbers)}, 201)


@routes.put(
    "/{name}/cursors/{reader}",
    Operation("register_reader", "Register a reader; a registered one stays where it is", "Cursor", problems=(404,)),
)
async def register_reader(  # noqa: PLR0913 - each is a parameter of the request
    request: Request,
    principal: Principal,
    name: StreamName,
    reader: ReaderName,
    body: Annotated[Any, Body("ReaderFields", "reader", example={"after": 0})],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    cursor = await _streams(request, dry_run=dry_run).register(principal, name, reader, owner, after=body.get("after"))
    return json_response(cursor_json(cursor))


@routes.delete(
    "/{name}/cursors/{reader}",
    Operation("remove_reader", "Remove a reader and its cursor", None, status=204, problems=(404,)),
)
async def remove_reader(
    request: Request,
    principal: Principal,
    name: StreamName,
    reader: ReaderName,
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    await _streams(request, dry_run=dry_run).unregister(principal, name, reader, owner)
    return no_content()
