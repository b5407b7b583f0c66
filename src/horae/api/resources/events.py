"""What happened: as a stream that goes on, or page by page; from any number on that the log still has."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Final

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ...errors import NotFound
from ...model.accounts.principal import Principal
from ...model.events.event import EventKind, Sequenced
from ...model.ids import is_shortened
from ...model.page import LARGEST_PAGE
from ...model.refusals import refuse
from ...service.events.event_tail import Wanted
from ...service.events.refusals import refuse as refuse_events
from ...service.query.id_prefix import TASK
from ...web.authentication import Who, bearer
from ...web.request_context import House, house_of
from ...web.responses import JSON
from ...web.routers import resource
from ...wire.cloud_events import read_kinds
from ..event_format import MANNERS, NDJSON, SSE, EventStream, with_positions
from ..event_format import Request as Asked
from ..event_streams import Hearing
from ..openapi import told
from ..parameters import Limit

router: Final = resource("/v1/events", "events")

LAST: Final = "last-event-id"
_MOST_READ: Final = 5
"""Pages of the log that one answer looks through."""
_HIGHEST: Final = 2**63 - 1

After = Annotated[
    int | None, Query(ge=0, le=_HIGHEST, description="The number after which to begin; a stream without it begins now.")
]
Types = Annotated[str | None, Query(max_length=1_000, description="`run.*,task.failed`: only these; all without it.")]
TaskOf = Annotated[str | None, Query(max_length=200, alias="task", description="Only what concerns this task.")]
_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that arrived, as browsers send it when they connect again; wins over `after`.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
}


@router.get(
    "",
    **told(
        "list_events",
        "What happened, as CloudEvents: a page, or with Accept text/event-stream or application/x-ndjson a stream",
        "EventPage",
        problems=(410,),
        headers=(_LAST_EVENT_ID,),
        description=(
            "A page is `{items, next, last}`; `next` is the `after` of the next one, `last` that of those who want only news. A stream goes on: it says `id` (the"
            " number), `event` (the kind) and `data` (a CloudEvent), and a comment every 15 seconds."
        ),
    ),
)
async def list_events(
    request: Request,
    who: Who,
    *,
    after: After = None,
    types: Types = None,
    task: TaskOf = None,
    limit: Limit = 100,
) -> Response:
    if task is not None and is_shortened(TASK, task):
        with suppress(NotFound):
            task = (await house_of(request).service.tasks.get(who, task)).task.id
    wanted = Wanted(_kinds(types), task)
    position = _position(request, after)
    manner = MANNERS.get((_kind_of_answer(request), who.scope is None))
    house = house_of(request)
    hearing: Hearing = house.tail
    gap = None if position is None else await house.service.events.gap(who, position)
    if manner is None:
        if gap is not None:
            raise refuse_events("events_gone", after=gap.after, resumes=gap.resumes)
        return await _page(house, who, wanted, position or 0, limit)
    begin = position if gap is None else gap.resumes
    return EventStream(hearing, Asked(who, bearer(request), wanted, begin, gap), manner)


def _kinds(said: str | None) -> frozenset[EventKind] | None:
    return None if said is None else read_kinds(part for part in said.split(",") if part.strip())


def _kind_of_answer(request: Request) -> str:
    """What is asked for first wins; whoever takes anything is given a page, which ends."""
    for part in request.headers.get("accept", "").split(","):
        kind = part.partition(";")[0].strip().lower()
        if kind in (SSE, NDJSON):
            return kind
        if kind in (JSON, "*/*"):
            break
    return JSON


def _position(request: Request, after: int | None) -> int | None:
    said = request.headers.get(LAST, "").strip()
    if not said:
        return after
    if not (said.isascii() and said.isdecimal() and len(said) <= 18):
        raise refuse("bad_number", name="Last-Event-ID", value=said, least=0, most=_HIGHEST)
    return int(said)


async def _page(house: House, who: Principal, wanted: Wanted, after: int, limit: int) -> Response:
    found: list[Sequenced] = []
    position = after
    for _ in range(_MOST_READ):
        events = await house.service.events.after(who, position, LARGEST_PAGE)
        found += [each for each in events if wanted.takes(each.event)]
        position = events[-1].cursor if events else position
        if len(found) >= limit or len(events) < LARGEST_PAGE:
            break
    if len(found) >= limit:
        found = found[:limit]
        position = found[-1].cursor
    told = await house.service.telling.told(found)
    items = with_positions(told) if who.scope is None else [each.body for each in told]
    last = await house.service.events.last(who)
    return Response(b'{"items":[%s],"next":%d,"last":%d}' % (b",".join(items), position, last), media_type=JSON)
