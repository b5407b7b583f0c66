"""Labels and payload in which an ordinary task stores the fields of these surfaces, so that every other front end shows them too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ...model.change import Facts
from ...model.events.trigger_fields import DETAILS_KEY
from ...model.refusals import refuse as refuse_task
from ...model.run import Run
from ...model.task import Task
from ...wire.tasks.text_tasks import UPDATED
from .refusals import refuse

TASK_TYPE: Final = "compat.task_type"
SOURCE_TYPE: Final = "compat.source_type"
SOURCE_ID: Final = "compat.source_id"
SNOOZED_FROM: Final = "compat.snoozed_from"


def label_of(task: Task, name: str) -> str | None:
    return dict(task.labels).get(name)


def last_change(facts: Facts, latest: Run | None) -> datetime:
    """Return the time of the last visible change: created, edited here, paused, run, ended."""
    status = facts.status
    times = (
        facts.task.created,
        _edit_time(facts.task),
        None if status.pause is None else status.pause.since,
        status.last_end,
        status.ended,
        None if latest is None else latest.ended or latest.started,
    )
    return max(each for each in times if each is not None)


def _edit_time(task: Task) -> datetime | None:
    """Return the time in the label; None if it is no instant, since users can write labels."""
    try:
        at = datetime.fromisoformat(label_of(task, UPDATED) or "")
        return None if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_payload(value: object) -> dict[str, Any]:
    """Return the payload object; absent or null is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or DETAILS_KEY in value:
        shown = type(value).__name__ if not isinstance(value, Mapping) else DETAILS_KEY
        raise refuse("compat_bad_field", name="payload", value=shown, wanted=f"a JSON object without '{DETAILS_KEY}'")
    return dict(value)


def encode_payload(payload: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> str:
    """Encode the payload as the task stores it."""
    combined = {**payload, DETAILS_KEY: dict(about)} if about else dict(payload)
    try:
        text = json.dumps(combined, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse_task("bad_payload", value=type(error).__name__) from None
    return text


def render_payload(text: str) -> dict[str, Any]:
    """Return the payload as an object; a task of another surface may hold any JSON."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return {} if value is None else {"value": value}
    return {name: each for name, each in value.items() if name != DETAILS_KEY}


def read_details(text: str) -> dict[str, Any]:
    """Return the descriptive fields."""
    value = json.loads(text)
    about = value.get(DETAILS_KEY) if isinstance(value, dict) else None
    return about if isinstance(about, dict) else {}
