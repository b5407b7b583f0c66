"""Event stream of a page: the events that the viewer may see, for the script that refreshes live parts."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from ...service.events.event_tail import EventFilter
from ...web.event_format import SSE, STREAM_FORMATS, EventStreamResponse, StreamRequest
from ...web.event_streams import Credential, EventStreams
from ..page import PageRequest, page
from ..request import session_cookie


async def stream(request: PageRequest) -> Response:
    """Stream events from now on; with `?task=ID`, those of one task only."""
    principal = request.viewer.principal
    streams: EventStreams = request.context.tail
    event_filter = EventFilter(None, request.request.query_params.get("task") or None)
    credential = Credential(session_cookie(request.request), is_session=True)
    stream_format = STREAM_FORMATS[SSE, principal.owner_filter is None]
    return EventStreamResponse(streams, StreamRequest(principal, credential, event_filter, None), stream_format)


ROUTES: Final = (page("/events", stream),)
