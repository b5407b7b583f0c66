"""Agent that created a task, read from the reserved label that only Horae writes."""

from __future__ import annotations

from ..task import Task
from .principal import AGENT_LABEL


def agent_of(task: Task) -> str | None:
    """Return the name of the agent that created the task; None for a task of a person or a program."""
    for name, value in task.labels:
        if name == AGENT_LABEL:
            return value
    return None
