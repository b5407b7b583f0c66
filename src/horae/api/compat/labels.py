"""What an ordinary task remembers for these surfaces: a few labels, so that every other front end shows them too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from ...model.accounts.principal import RESERVED_LABELS
from ...model.change import Facts
from ...model.run import Run
from ...model.task import Task

SURFACE: Final = "compat.surface"
"""Through which of these surfaces it was made."""
UPDATED: Final = "compat.updated"
"""When it was last edited through one of them."""
TASK_TYPE: Final = "compat.task_type"
SOURCE_TYPE: Final = "compat.source_type"
SOURCE_ID: Final = "compat.source_id"
SNOOZED_FROM: Final = "compat.snoozed_from"

DISABLED: Final = "disabled"
"""The note of a pause that a client knows as `enabled: false`."""


def labelled(task: Task, marks: Mapping[str, str]) -> dict[str, str]:
    """The task's labels with these marks; those that only the service writes are left to it."""
    kept = {name: value for name, value in task.labels if not name.startswith(RESERVED_LABELS)}
    return kept | dict(marks)


def mark_of(task: Task, name: str) -> str | None:
    return dict(task.labels).get(name)


def updated(facts: Facts, latest: Run | None) -> datetime:
    """The last change that can be seen: made, edited here, paused, run, ended."""
    standing = facts.standing
    seen = (
        facts.task.created,
        _edited(facts.task),
        None if standing.pause is None else standing.pause.since,
        standing.last_end,
        standing.ended,
        None if latest is None else latest.ended or latest.started,
    )
    return max(each for each in seen if each is not None)


def _edited(task: Task) -> datetime | None:
    """Anybody may write labels: what is no instant says nothing."""
    try:
        at = datetime.fromisoformat(mark_of(task, UPDATED) or "")
        return None if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
