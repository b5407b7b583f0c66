"""Trace links: the span of a request links to the traces of the runs that it causes."""

from __future__ import annotations

from starlette.requests import Request

from ..model.change import Facts
from ..model.events.trace_context import first_traceparent
from ..observe.traces import LINKS
from ..web.request_context import house_of


def link_to(request: Request, *traces: str) -> None:
    request.scope["state"][LINKS] = traces


def link_to_first(request: Request, facts: Facts) -> None:
    """Link to the first run of a task that was just created."""
    if house_of(request).observability.observer.tracing is not None and facts.entries:
        first = min(facts.entries, key=lambda entry: entry.due)
        link_to(request, first_traceparent(facts.task.id, first.origin, first.planned))
