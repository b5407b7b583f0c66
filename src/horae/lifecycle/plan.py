"""Creation of a task: validates a draft and puts its first occurrence on the agenda."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ..errors import Refusal
from ..model.change import Change, Facts
from ..model.events.event import EventKind
from ..model.ids import EPOCH
from ..model.inputs.placeholders import check_placeholders, recognise_template
from ..model.lanes.lane import OWNER_LANE_PREFIX, check_lane, fill_lane_name
from ..model.limits import KEY_CHARACTERS, LABEL_CHARACTERS, LABELS, NAME_CHARACTERS, PAYLOAD_BYTES, TARGET_BYTES
from ..model.policy import MAX_TASK_LANES, Policies
from ..model.refusals import refuse
from ..model.task import NEW_TASK_STATUS, Target, Task, TaskPast, TaskStatus, gate_target, past_of
from ..model.text.field_checks import check_number, check_text, check_visible
from ..schedule import After, Past, Schedule, first, next  # noqa: A004 - next occurrence, not the builtin
from .agenda import entry_at
from .due_backlog import MICROSECOND, counts_from_end
from .event_rows import task_event
from .start_deadline import with_start_deadline

MAX_COUNTED: Final = 1_000_000_000


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
    past: TaskPast | None = None


def plan(draft: Draft, task_id: str, now: datetime) -> Change:
    """Create the task. `now` becomes the permanent anchor of its schedule; a schedule that never fires is refused.

    A task that brings its past along has an earlier anchor. Its first entry may be due already: the claim of it accounts
    for all that was missed, as after an outage.
    """
    status = NEW_TASK_STATUS
    if draft.past is None:
        task = build_task(draft, task_id, now)
        planned = first(task.schedule, Past(now))
    else:
        past = _check_past(draft.past, now)
        task = build_task(draft, task_id, past.created or now)
        status = status._replace(counted=past.counted, last_end=past.last_end)
        planned = _first_unaccounted(task, status, past.missed_since, now)
    if planned is None and not isinstance(task.schedule, After):
        raise refuse("never_fires")
    change = Change(
        task=task,
        status=status,
        put=() if planned is None else (entry_at(task, status, planned),),
        events=(task_event(EventKind.TASK_CREATED, task, now),),
    )
    if task.policies.where and task.policies.start_within is not None:
        return with_start_deadline(Facts(task, status), change)
    return change


def _check_past(past: TaskPast, now: datetime) -> TaskPast:
    """Return the past with its instants in UTC; refuses instants in the future or before the creation."""
    check_number("past.counted", past.counted, 0, MAX_COUNTED)
    created = _check_instant("past.created", past.created, EPOCH, now)
    return TaskPast(
        created,
        past.counted,
        _check_instant("past.last_end", past.last_end, created or now, now),
        _check_instant("past.missed_since", past.missed_since, created or now, now),
    )


def _check_instant(name: str, value: object, least: datetime, most: datetime) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None or not least <= value <= most:
        raise refuse("bad_past", name=name, value=value, least=least.isoformat(), most=most.isoformat())
    return value.astimezone(UTC)


def _first_unaccounted(task: Task, status: TaskStatus, missed_since: datetime | None, now: datetime) -> datetime | None:
    """Return the first occurrence that is not accounted for; None when the schedule has none.

    An interval that counts from the end of a run has only one, however long ago that was.
    """
    past = past_of(task, status)
    if counts_from_end(task.schedule):
        return next(task.schedule, status.last_end or task.created, past)
    return next(task.schedule, now if missed_since is None else missed_since - MICROSECOND, past)


def build_task(draft: Draft, task_id: str, now: datetime) -> Task:
    """Return the validated task of a draft; refuses bad parts."""
    check_text("name", draft.name, NAME_CHARACTERS)
    check_text("owner", draft.owner, KEY_CHARACTERS)
    if draft.key is not None:
        check_text("key", draft.key, KEY_CHARACTERS)
    labels = _check_labels(draft.labels)
    lane, policies = draft.lane, draft.policies
    if lane is not None or policies.lanes:
        lane, *further_lanes = _read_lanes(draft, dict(labels))
        if policies.lanes != tuple(further_lanes):
            policies = replace(policies, lanes=tuple(further_lanes))
    size = _byte_size("target", draft.target.kind + draft.target.spec)
    if size > TARGET_BYTES:
        raise refuse("payload_too_large", size=size, most=TARGET_BYTES)
    size = _byte_size("payload", draft.payload)
    if size > PAYLOAD_BYTES:
        raise refuse("payload_too_large", size=size, most=PAYLOAD_BYTES)
    task = Task(
        task_id,
        draft.owner,
        draft.name,
        draft.schedule,
        draft.target,
        draft.payload,
        policies,
        now,
        draft.key,
        lane,
        labels,
    )
    task = recognise_template(task)
    check_placeholders(task)
    gate = gate_target(task.policies)
    if gate is not None:
        size = _byte_size("gate", gate.kind + gate.spec)
        if size > TARGET_BYTES:
            raise refuse("payload_too_large", size=size, most=TARGET_BYTES)
        try:
            check_placeholders(recognise_template(task._replace(target=gate, payload="{}")))
        except Refusal as refusal:
            refusal.facts["gate"] = gate.kind
            raise
    return task


def _read_lanes(draft: Draft, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the lanes of the task, each once, with their placeholders filled in."""
    given = (*(() if draft.lane is None else (draft.lane,)), *draft.policies.lanes)
    for each in given:
        check_text("lane", each, KEY_CHARACTERS)
    lanes = tuple(dict.fromkeys(fill_lane_name(each, draft.owner, labels) for each in given))
    for each in lanes:
        check_lane(each)
        if each.startswith(OWNER_LANE_PREFIX):
            # An owner's quota lane is assigned by Horae, not by name.
            raise refuse("bad_choice", name="lane", value=each, allowed=f"any name without '{OWNER_LANE_PREFIX}'")
    if len(lanes) > MAX_TASK_LANES:
        raise refuse("too_many_task_lanes", most=MAX_TASK_LANES, found=len(lanes))
    return lanes


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
