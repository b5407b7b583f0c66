"""Event log: as an endless stream, or in pages, from any cursor that the log still has."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Annotated, Final

from starlette.requests import Request
from starlette.responses import Response

from ...errors import NotFound
from ...model.accounts.principal import Principal
from ...model.events.event import EventKind, SequencedEvent
from ...model.ids import is_id_prefix
from ...model.page import MAX_PAGE_SIZE
from ...model.refusals import refuse
from ...service.events.event_tail import EventFilter
from ...service.events.owner_sequence import event_scope
from ...service.events.refusals import refuse as refuse_events
from ...service.query.id_prefix import TASK
from ...web.authentication import bearer_token
from ...web.event_format import NDJSON, SSE, STREAM_FORMATS, EventStreamResponse, StreamRequest, with_positions
from ...web.event_streams import Credential, EventStreams
from ...web.parameters import Query
from ...web.request_context import AppContext, app_context
from ...web.responses import JSON
from ...web.routing import RouteGroup
from ..openapi import Operation
from ..parameters import Limit, System, reader_of

_KINDS: Final = tuple(kind.value for kind in EventKind)


def _match_kinds(patterns: Iterable[object]) -> frozenset[EventKind] | None:
    """Return the event kinds that match patterns such as `run.*` or `task.failed`; None without patterns, which means
    all. A pattern that matches nothing is refused."""
    kinds: set[EventKind] = set()
    has_patterns = False
    for pattern in patterns:
        has_patterns = True
        text = pattern.strip() if isinstance(pattern, str) else ""
        matching = {kind for kind in EventKind if fnmatchcase(kind.value, text)}
        if not matching:
            raise refuse("bad_choice", name="types", value=pattern, allowed=", ".join(_KINDS))
        kinds |= matching
    return frozenset(kinds) if has_patterns else None


routes: Final = RouteGroup("/v1/events", "events")

LAST_EVENT_ID: Final = "last-event-id"
_MAX_PAGES_READ: Final = 5
"""Pages of the log that one response reads through."""
_MAX_POSITION: Final = 2**63 - 1

After = Annotated[
    int | None,
    Query(
        minimum=0, maximum=_MAX_POSITION, description="The number after which to start; a stream without it starts now."
    ),
]
Types = Annotated[str | None, Query(max_length=1_000, description="`run.*,task.failed`: only these; all without it.")]
TaskOf = Annotated[str | None, Query(max_length=200, description="Only what concerns this task.")]
_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that arrived, as browsers send it when they connect again; wins over `after`.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
}


@routes.get(
    "",
    Operation(
        "list_events",
        "What happened, as CloudEvents: a page, or with Accept text/event-stream or application/x-ndjson a stream",
        "EventPage",
        problems=(410,),
        headers=(_LAST_EVENT_ID,),
        description=(
            "A page is `{items, next, last}`; `next` is the `after` of the next one, `last` the `after` for new events only. A stream does not end: it sends `id` (the"
            " number), `event` (the kind) and `data` (a CloudEvent), and a comment every 15 seconds."
        ),
    ),
)
async def list_events(  # noqa: PLR0913 - every condition by its name
    request: Request,
    principal: Principal,
    *,
    after: After = None,
    types: Types = None,
    task: TaskOf = None,
    limit: Limit = 100,
    system: System = False,
) -> Response:
    if task is not None and is_id_prefix(TASK, task):
        with suppress(NotFound):
            task = (await app_context(request).service.tasks.get(principal, task)).task.id
    principal = reader_of(principal, system=system)
    event_filter = EventFilter(_parse_kinds(types), task, system)
    position = _position(request, after)
    stream_format = STREAM_FORMATS.get((_media_type(request), event_scope(principal) is None))
    context = app_context(request)
    streams: EventStreams = context.tail
    gap = None if position is None else await context.service.events.gap(principal, position)
    if stream_format is None:
        if gap is not None:
            raise refuse_events("events_gone", after=gap.after, resumes=gap.resumes)
        return await _page(context, principal, event_filter, position or 0, limit)
    start = position if gap is None else gap.resumes
    credential = Credential(bearer_token(request))
    return EventStreamResponse(streams, StreamRequest(principal, credential, event_filter, start, gap), stream_format)


def _parse_kinds(types: str | None) -> frozenset[EventKind] | None:
    return None if types is None else _match_kinds(part for part in types.split(",") if part.strip())


def _media_type(request: Request) -> str:
    """Return the first acceptable media type; a client that accepts anything gets a page, which ends."""
    for part in request.headers.get("accept", "").split(","):
        kind = part.partition(";")[0].strip().lower()
        if kind in (SSE, NDJSON):
            return kind
        if kind in (JSON, "*/*"):
            break
    return JSON


def _position(request: Request, after: int | None) -> int | None:
    header = request.headers.get(LAST_EVENT_ID, "").strip()
    if not header:
        return after
    if not (header.isascii() and header.isdecimal() and len(header) <= 18):
        raise refuse("bad_number", name="Last-Event-ID", value=header, least=0, most=_MAX_POSITION)
    return int(header)


async def _page(
    context: AppContext, principal: Principal, event_filter: EventFilter, after: int, limit: int
) -> Response:
    events_read: list[SequencedEvent] = []
    position = after
    for _ in range(_MAX_PAGES_READ):
        events = await context.service.events.after(principal, position, MAX_PAGE_SIZE)
        events_read += [each for each in events if event_filter.matches(each.event)]
        position = events[-1].cursor if events else position
        if len(events_read) >= limit or len(events) < MAX_PAGE_SIZE:
            break
    if len(events_read) >= limit:
        events_read = events_read[:limit]
        position = events_read[-1].cursor
    rendered = await context.service.event_encoder.encode(events_read)
    items = with_positions(rendered) if event_scope(principal) is None else [each.body for each in rendered]
    last = await context.service.events.last(principal)
    return Response(b'{"items":[%s],"next":%d,"last":%d}' % (b",".join(items), position, last), media_type=JSON)
