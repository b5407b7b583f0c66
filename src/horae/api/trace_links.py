"""Trace links: the span of a request links to the traces of the runs that it causes."""

from __future__ import annotations

from starlette.requests import Request

from ..model.change import Facts
from ..model.events.trace_context import first_traceparent
from ..observe.traces import LINKS_KEY
from ..web.request_context import app_context


def set_trace_links(request: Request, *traces: str) -> None:
    request.scope["state"][LINKS_KEY] = traces


def link_first_run(request: Request, facts: Facts) -> None:
    """Link to the first run of a task that was just created."""
    if app_context(request).observability.observer.tracing is not None and facts.entries:
        first = min(facts.entries, key=lambda entry: entry.due)
        set_trace_links(request, first_traceparent(facts.task.id, first.origin, first.planned))
