"""Text of an instant in explanations: in the zone of the task, with its offset."""

from __future__ import annotations

from datetime import datetime

from ..model.change import Facts
from ..schedule.preview import make_fires


def format_instant(facts: Facts, at: datetime) -> str:
    """Format an instant in the task's zone with its offset, with seconds only where they are not zero."""
    local = make_fires(facts.task.schedule.zone or "UTC", [at])[0].local
    text = local.isoformat(" ", "seconds" if local.second or local.microsecond else "minutes")
    return f"{text[:-6]} {text[-6:]}"
