"""Requests of the scripts of pages: the event stream that refreshes live parts, and the search of the command palette."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse, Response

from ...ports.store import TaskFilter
from ...service.events.event_tail import EventFilter
from ...service.own_tasks import without_admin
from ...web.event_format import SSE, STREAM_FORMATS, EventStreamResponse, StreamRequest
from ...web.event_streams import Credential, EventStreams
from ..page import PageRequest, page
from ..request import session_cookie
from .simple import LIST

_MAX_DIGITS: Final = 18
_MAX_TASKS: Final = 8
_MAX_TEXT: Final = 100
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


async def stream(request: PageRequest) -> Response:
    """Stream events from now on, or after the last one that the browser has.

    With `?task=ID`, those of one task only; with `?log=ID`, also a notice whenever that run has new log lines.
    """
    principal, after = request.viewer.principal, _last_event(request)
    gap = None if after is None else await request.service.events.gap(principal, after)
    streams: EventStreams = request.context.tail
    event_filter = EventFilter(None, request.request.query_params.get("task") or None)
    start = after if gap is None else gap.resumes
    credential = Credential(session_cookie(request.request), is_session=True)
    stream_format = STREAM_FORMATS[SSE, principal.owner_filter is None]
    run_id = request.request.query_params.get("log")
    log_of = None if run_id is None else (await request.service.runs.get(principal, run_id)).id
    stream_request = StreamRequest(principal, credential, event_filter, start, gap, log_of)
    return EventStreamResponse(streams, stream_request, stream_format)


def _last_event(request: PageRequest) -> int | None:
    """Return the number of the last event that arrived, which browsers send when they connect again."""
    text = request.request.headers.get("last-event-id", "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


async def find_tasks(request: PageRequest) -> Response:
    """Return names and addresses of tasks whose name contains `q`."""
    wanted = request.request.query_params.get("q", "").strip()[:_MAX_TEXT]
    if not wanted or not wanted.isprintable():
        return JSONResponse({"tasks": []}, headers=_HEADERS)
    viewer = request.viewer
    # The simple view has only the viewer's own tasks, and a page of its own for each.
    principal, folder = (without_admin(viewer.principal), LIST) if viewer.is_simple else (viewer.principal, "/tasks")
    found = await request.service.tasks.page(principal, TaskFilter(text=wanted), limit=_MAX_TASKS)
    tasks = [
        {"name": facts.task.name, "url": viewer.url(f"{folder}/{facts.task.id}"), "state": facts.status.state}
        for facts in found.items
    ]
    return JSONResponse({"tasks": tasks}, headers=_HEADERS)


ROUTES: Final = (page("/events", stream), page("/palette", find_tasks))
