"""The W3C trace context of a run: it follows from the run itself, so that nobody has to keep or pass it on."""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from ..ids import occurrence_key, run_id
from ..run import Origin, Run


def trace_id(run: Run) -> str:
    """All attempts at an occurrence belong to one trace."""
    return _trace(run.task_id, run.origin, run.planned)


def traceparent(run: Run) -> str:
    """Each attempt is a span of its own."""
    return _written(_trace(run.task_id, run.origin, run.planned), run.id)


def first_traceparent(task_id: str, origin: Origin, planned: datetime) -> str:
    """That of the first attempt, before there is a run."""
    return _written(_trace(task_id, origin, planned), run_id(task_id, origin, planned, 1))


def _trace(task_id: str, origin: Origin, planned: datetime) -> str:
    return occurrence_key(task_id, origin, planned).removeprefix("occ_")


def _written(trace: str, run: str) -> str:
    return f"00-{trace}-{blake2b(run.encode(), digest_size=8).hexdigest()}-01"
