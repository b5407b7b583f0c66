"""A wish becomes a task: its parts are checked, and its first occurrence stands on the agenda."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from ..model.change import Change
from ..model.event import EventKind
from ..model.limits import KEY_CHARACTERS, LABEL_CHARACTERS, LABELS, NAME_CHARACTERS, PAYLOAD_BYTES
from ..model.policy import Policies
from ..model.refusals import refuse
from ..model.route import is_route
from ..model.task import FRESH, Target, Task
from ..schedule import Past, Schedule, first
from .agenda import entry_at
from .telling import task_event


class Draft(NamedTuple):
    """What somebody wants, before it is a task. `payload` is JSON text."""

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
    """`now` is the anchor of its schedule for good. What would never fire is refused here, not discovered later."""
    task = drafted(draft, task_id, now)
    planned = first(task.schedule, Past(now))
    if planned is None:
        raise refuse("never_fires")
    return Change(
        task=task,
        standing=FRESH,
        put=(entry_at(task, FRESH, planned),),
        events=(task_event(EventKind.TASK_CREATED, task, now),),
    )


def drafted(draft: Draft, task_id: str, now: datetime) -> Task:
    """The task that a draft describes, checked part by part."""
    _check_text("name", draft.name, NAME_CHARACTERS)
    _check_text("owner", draft.owner, KEY_CHARACTERS)
    if draft.key is not None:
        _check_text("key", draft.key, KEY_CHARACTERS)
    if draft.lane is not None:
        _check_text("lane", draft.lane, KEY_CHARACTERS)
    if is_route(draft.lane):
        # Whoever waits in such a lane would be taken for somebody who waits at a door.
        raise refuse("bad_choice", name="lane", value=draft.lane, allowed="any name without 'function:' or 'target:'")
    size = len(draft.payload) if draft.payload.isascii() else len(draft.payload.encode())
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
        _labels(draft.labels),
    )


def _labels(labels: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    if not labels:
        return ()
    texts: list[object] = [*labels.keys(), *labels.values()]
    fitting = all(isinstance(text, str) and len(text) <= LABEL_CHARACTERS and text.isprintable() for text in texts)
    if len(labels) > LABELS or not fitting or "" in labels:
        raise refuse("bad_labels", value=dict(labels), most=LABELS)
    return tuple(sorted(labels.items()))


def _check_text(name: str, value: object, most: int) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable():
        raise refuse("bad_text", name=name, value=value, most=most)
