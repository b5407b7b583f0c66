"""Which agent made a task, as the label says that only Horae writes."""

from __future__ import annotations

from ..task import Task
from .principal import AGENT_LABEL


def agent_of(task: Task) -> str | None:
    """None for a task that a person or a program made."""
    for name, value in task.labels:
        if name == AGENT_LABEL:
            return value
    return None
