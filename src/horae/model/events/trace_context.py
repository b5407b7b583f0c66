"""W3C trace context of a run, derived from its identity, so that it is neither stored nor passed on."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from ..ids import occurrence_key, run_id
from ..run import Origin, Run


def trace_id(run: Run) -> str:
    """Return the trace id, shared by all attempts at an occurrence and by all runs of its chain."""
    return _derive_trace_id(*run.root)


def traceparent(run: Run) -> str:
    """Return the `traceparent` header; each attempt is a span of its own."""
    return _format_traceparent(_derive_trace_id(*run.root), run.id)


def first_traceparent(task_id: str, origin: Origin, planned: datetime) -> str:
    """Return the `traceparent` of the first attempt, before the run exists."""
    return _format_traceparent(_derive_trace_id(task_id, origin, planned), run_id(task_id, origin, planned, 1))


def _derive_trace_id(task_id: str, origin: Origin, planned: datetime) -> str:
    return occurrence_key(task_id, origin, planned).removeprefix("occ_")


def _format_traceparent(trace: str, run: str) -> str:
    return f"00-{trace}-{blake2b(run.encode(), digest_size=8).hexdigest()}-01"
