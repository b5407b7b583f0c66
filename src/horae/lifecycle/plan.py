"""Creation of a task: validates a draft and puts its first occurrence on the agenda."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from ..model.change import Change
from ..model.events.event import EventKind
from ..model.field_checks import check_text, check_visible
from ..model.lane import OWNER_LANE_PREFIX, check_lane
from ..model.limits import KEY_CHARACTERS, LABEL_CHARACTERS, LABELS, NAME_CHARACTERS, PAYLOAD_BYTES, TARGET_BYTES
from ..model.policy import Policies
from ..model.refusals import refuse
from ..model.task import NEW_TASK_STATUS, Target, Task
from ..schedule import Past, Schedule, first
from .agenda import entry_at
from .event_rows import task_event


class Draft(NamedTuple):
    """Requested task before validation. `payload` is JSON text."""

    owner: str
    name: str
    schedule: Schedule
    target: Target
    payload: str
    policies: Policies
    key: str | None = None
    lane: str | None = None
    labels: Mapping[str, str] | None = None


def plan(draft: Draft, task_id: str, now: datetime) -> Change:
    """Create the task. `now` becomes the permanent anchor of its schedule; a schedule that never fires is refused."""
    task = build_task(draft, task_id, now)
    planned = first(task.schedule, Past(now))
    if planned is None:
        raise refuse("never_fires")
    return Change(
        task=task,
        status=NEW_TASK_STATUS,
        put=(entry_at(task, NEW_TASK_STATUS, planned),),
        events=(task_event(EventKind.TASK_CREATED, task, now),),
    )


def build_task(draft: Draft, task_id: str, now: datetime) -> Task:
    """Return the validated task of a draft; refuses bad parts."""
    check_text("name", draft.name, NAME_CHARACTERS)
    check_text("owner", draft.owner, KEY_CHARACTERS)
    if draft.key is not None:
        check_text("key", draft.key, KEY_CHARACTERS)
    if draft.lane is not None:
        check_lane(draft.lane)
        if draft.lane.startswith(OWNER_LANE_PREFIX):
            # An owner's quota lane is assigned by Horae, not by name.
            raise refuse("bad_choice", name="lane", value=draft.lane, allowed=f"any name without '{OWNER_LANE_PREFIX}'")
    size = _byte_size("target", draft.target.kind + draft.target.spec)
    if size > TARGET_BYTES:
        raise refuse("payload_too_large", size=size, most=TARGET_BYTES)
    size = _byte_size("payload", draft.payload)
    if size > PAYLOAD_BYTES:
        raise refuse("payload_too_large", size=size, most=PAYLOAD_BYTES)
    return Task(
        task_id,
        draft.owner,
        draft.name,
        draft.schedule,
        draft.target,
        draft.payload,
        draft.policies,
        now,
        draft.key,
        draft.lane,
        _check_labels(draft.labels),
    )


def _check_labels(labels: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    if not labels:
        return ()
    texts: list[object] = [*labels.keys(), *labels.values()]
    is_valid = all(isinstance(text, str) and len(text) <= LABEL_CHARACTERS and text.isprintable() for text in texts)
    if len(labels) > LABELS or not is_valid or "" in labels:
        raise refuse("bad_labels", value=dict(labels), most=LABELS)
    for name, value in labels.items():
        check_visible("labels", name)
        check_visible(f"labels.{name}", value)
    return tuple(sorted(labels.items()))


def _byte_size(name: str, text: str) -> int:
    """Return the size in bytes; refuse a lone surrogate, which no store can keep."""
    try:
        return len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise refuse("bad_payload", value=name) from None
