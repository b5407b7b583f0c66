"""Tasks to JSON and back: one shape for the CLI, export, apply, HTTP and MCP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from ...choices import Language
from ...json_encoder import SPACED, make_encoder
from ...model.agents.agent_task import owner_of_prompt
from ...model.change import Facts
from ...model.entry import CONTROL_KINDS, EntryState
from ...model.ids import EPOCH
from ...model.lanes.route import is_queue, is_route
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import Task, TaskPast, TaskState, TaskStatus
from ...schedule import After, to_json
from ...schedule.after import MODE_CHOICES, ON_CHOICES, with_names
from ...schedule.describe import describe_schedule
from ...service.tasks.edits import KEEP, Edits
from ...service.tasks.task_request import NO_OPTIONS, TaskRequest
from ..fields import check_fields, text_or_none
from ..instants import local, parse_instant, utc
from ..runs import run_json
from .policies import policies_json, read_policies
from .targets import AGENT, SHORT_TARGETS, check_encodable, read_prompt, read_target, target_json

DEFINITION_FIELDS: Final = ("name", "when", "zone", "target", "payload", "key", "lane", "labels", "policies", "owner")
"""Fields that the creator of a task may set."""
AFTER_FIELDS: Final = ("after", "mode")
"""Fields that stand for a schedule of the kind `after`."""
PAST: Final = "past"
READ_ONLY_FIELDS: Final = (
    "id",
    "state",
    "means",
    "version",
    "successors",
    "created",
    "next",
    "next_local",
    "counted",
    "failures",
    "skips_left",
    "running",
    "waiting_for",
    "pause",
    "reason",
    "ended",
    "last_result",
    "last",
    "missed_24h",
)
"""Fields that only Horae sets; ignored when an exported task is read back."""
_NEW_FIELDS: Final = dict.fromkeys((*DEFINITION_FIELDS, *AFTER_FIELDS, PAST, AGENT, *SHORT_TARGETS))
_EXPORTED_FIELDS: Final = _NEW_FIELDS | dict.fromkeys(READ_ONLY_FIELDS)
_MAX_CACHED_CHARACTERS: Final = 2_048
_encode: Final = make_encoder(SPACED, allow_nan=False)
NO_NAMES: Final[Mapping[str, str]] = {}


def definition_json(task: Task) -> dict[str, Any]:
    """Encode the definition: enough to create the task again."""
    return {
        "name": task.name,
        "when": to_json(task.schedule),
        "zone": task.schedule.zone,
        "target": target_json(task.target),
        "payload": json.loads(task.payload),
        "key": task.key,
        "lane": task.lane,
        "labels": dict(task.labels),
        "policies": policies_json(task.policies),
        "owner": task.owner,
    }


def task_json(
    facts: Facts,
    language: Language = "en",
    last: Run | None = None,
    missed: int | None = None,
    names: Mapping[str, str] = NO_NAMES,
    *,
    now: datetime | None = None,
) -> dict[str, Any]:
    """Encode the task with its status as of `now`. `last` is its newest run, and `missed` the number of its occurrences of the last
    day that nothing could run; both are None unless they were looked up. `names`: those of its predecessors, by id."""
    task = facts.task
    if names and isinstance(task.schedule, After):
        return {**static_json(task, language, names), **live_json(facts, last, missed, now)}
    is_small = len(task.payload) + len(task.target.spec) <= _MAX_CACHED_CHARACTERS
    definition = _cached_static_json(task, language) if is_small else static_json(task, language)
    return {**definition, **live_json(facts, last, missed, now)}


def static_json(task: Task, language: Language = "en", names: Mapping[str, str] = NO_NAMES) -> dict[str, Any]:
    """Encode the fields that do not change from run to run."""
    return {
        "id": task.id,
        **definition_json(task),
        "means": describe_schedule(with_names(task.schedule, names), language),
        "version": task.version,
        "successors": list(task.successors),
        "created": utc(task.created),
    }


@lru_cache(maxsize=512)
def _cached_static_json(task: Task, language: Language) -> dict[str, Any]:
    """Cache: the same tasks are read again and again."""
    return static_json(task, language)


def live_json(
    facts: Facts, last: Run | None = None, missed: int | None = None, now: datetime | None = None
) -> dict[str, Any]:
    """Encode the fields that change from run to run, as of `now`."""
    task = facts.task
    return {
        **status_json(facts, now),
        "last": None if last is None else run_json(last, task.name, task.schedule.zone),
        "missed_24h": missed,
    }


OWNER_BLOCKED: Final = "owner"


def status_json(facts: Facts, now: datetime | None = None) -> dict[str, Any]:
    """Encode the state of the task, without its newest run."""
    upcoming = next_due(facts)
    return {
        "state": facts.status.state.value,
        "next": utc(upcoming),
        "next_local": local(upcoming, facts.task.schedule.zone),
        **_counters_json(facts.status),
        "running": len(facts.live),
        "waiting_for": waiting_for(facts, now),
    }


def _counters_json(status: TaskStatus) -> dict[str, Any]:
    pause = status.pause
    return {
        "counted": status.counted,
        "failures": status.failures,
        "skips_left": status.skips_left,
        "pause": None
        if pause is None
        else {"since": utc(pause.since), "cause": pause.cause.value, "note": pause.note, "until": utc(pause.until)},
        "reason": None if status.reason is None else status.reason.value,
        "ended": utc(status.ended),
        "last_result": status.last_result,
    }


def next_due(facts: Facts) -> datetime | None:
    """Return when the next entry that leads to a run is due; None if none is left or the task is paused."""
    soonest: datetime | None = None
    for entry in facts.entries:
        is_run = entry.state is not EntryState.ASLEEP and entry.kind not in CONTROL_KINDS
        if is_run and (soonest is None or entry.due < soonest):
            soonest = entry.due
    return soonest


def waiting_for(facts: Facts, now: datetime | None = None) -> str | None:
    """Return what a due entry waits for: `lane:<name>`, `node:<route>`, or `run` (an earlier run of the task).

    `owner:<reason>`: nothing of the task starts, because its owner or its agent is blocked. An entry that requires labels is
    in the queue of its route before it is due: whether it waits there depends on `now`; without it, it does not count.
    """
    if facts.block_reason is not None and facts.status.state is TaskState.ACTIVE:
        return f"{OWNER_BLOCKED}:{facts.block_reason.value}"
    is_held = False
    for entry in facts.entries:
        lane = entry.lane
        if entry.state is EntryState.PARKED:
            return f"{'node' if is_route(lane) else 'lane'}:{lane}"
        if lane is not None and now is not None and entry.due <= now and is_queue(lane):
            return f"node:{lane}"
        is_held = is_held or entry.state is EntryState.HELD
    return "run" if is_held else None


def read_task(value: object, *, exported: bool = False) -> TaskRequest:
    """Decode a task request. `exported`: fields that only Horae sets are ignored instead of refused."""
    fields = read_prompt(read_after(check_fields("task", value, _EXPORTED_FIELDS if exported else _NEW_FIELDS)))
    for name in ("name", "when"):
        if fields.get(name) is None:
            raise refuse("missing_field", name=name)
    target = read_target(fields)
    return TaskRequest(
        name=fields["name"],
        when=fields["when"],
        target=target,
        payload=read_payload(fields),
        owner=owner_of_prompt(target) if fields.get("owner") is None else text_or_none("owner", fields["owner"]),
        key=text_or_none("key", fields.get("key")),
        zone=text_or_none("zone", fields.get("zone")),
        lane=text_or_none("lane", fields.get("lane")),
        labels=_labels(fields),
        options=NO_OPTIONS if fields.get("policies") is None else read_policies(fields["policies"]),
        cleared=frozenset(name for name in ("lane", "zone", "labels") if name in fields and fields[name] is None),
        past=None if fields.get(PAST) is None else _read_past(fields[PAST]),
    )


def read_after(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields with `after` and `mode`, if given, as the schedule that they stand for."""
    if fields.get("after") is None:
        if fields.get("mode") is not None:
            raise refuse("missing_field", name="after")
        return fields
    if fields.get("when") is not None:
        raise refuse("after_and_schedule")
    when = after_when(fields["after"], fields.get("mode"))
    _check_links(when)
    return {**fields, "when": when}


def _check_links(when: Mapping[str, Any]) -> None:
    """Refuse what is no link, by the name of its field in the request."""
    for number, link in enumerate(when["links"]):
        if not isinstance(link, Mapping) or not {"task"} <= set(link) <= {"task", "on"}:
            wanted = '{"task": "backup", "on": "succeeded"}'
            raise refuse("bad_policy", name=f"after.{number}", value=json.dumps(link, default=str), wanted=wanted)
        if link.get("on") is not None and link["on"] not in ON_CHOICES:
            raise refuse("bad_choice", name=f"after.{number}.on", value=link["on"], allowed=", ".join(ON_CHOICES))
    if when["mode"] not in MODE_CHOICES:
        raise refuse("bad_choice", name="mode", value=when["mode"], allowed=", ".join(MODE_CHOICES))


def parse_link(text: str) -> dict[str, str]:
    """Parse `TASK` or `TASK:on`, as a command or an agent names a predecessor; a name may contain colons."""
    name, _, on = text.rpartition(":")
    return {"task": name, "on": on} if name and on in ON_CHOICES else {"task": text}


def after_when(after: object, mode: object = None) -> dict[str, Any]:
    """Return the canonical schedule of `after`: a task, or a list of tasks, each as `{"task": …, "on": …}` or by its name."""
    listed = after if isinstance(after, list | tuple) else [after]
    links = [{"task": each} if isinstance(each, str) else each for each in listed]
    return {"kind": After.kind, "links": links, "mode": mode or "any"}


def edited_after(task: Task, after: Sequence[str], mode: str | None) -> dict[str, Any] | None:
    """Return the schedule of an edit that names predecessors, the mode alone, or neither (None).

    Without a mode, the mode of the task stays; with the mode alone, its predecessors stay.
    """
    current = task.schedule if isinstance(task.schedule, After) else None
    if after:
        return after_when([parse_link(each) for each in after], mode or (None if current is None else current.mode))
    if mode is None:
        return None
    if current is None:
        raise refuse("missing_field", name="after")
    return to_json(replace(current, mode=mode))  # type: ignore[arg-type]  # the schedule refuses other modes


def _read_past(value: object) -> TaskPast:
    fields = check_fields(PAST, value, TaskPast._fields)
    instants = {
        name: _read_past_instant(name, fields[name])
        for name in ("created", "last_end", "missed_since")
        if fields.get(name) is not None
    }
    return TaskPast(**instants, counted=0 if fields.get("counted") is None else fields["counted"])


def _read_past_instant(name: str, value: object) -> datetime:
    try:
        return parse_instant(value)  # type: ignore[arg-type]  # other types are refused
    except (TypeError, ValueError, OverflowError):
        raise refuse("bad_past", name=f"{PAST}.{name}", value=value, least=EPOCH.isoformat(), most="now") from None


def read_payload(fields: Mapping[str, Any]) -> str:
    try:
        return check_encodable(_encode(fields.get("payload", {})))
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("bad_payload", value=error) from None


def _labels(fields: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the labels unchecked; the task itself checks names and values."""
    labels = fields.get("labels")
    if labels is not None and not isinstance(labels, Mapping):
        raise refuse("bad_policy", name="labels", value=labels, wanted="JSON object")
    return None if labels is None else dict(labels)


EDITABLE_FIELDS: Final = tuple(name for name in DEFINITION_FIELDS if name not in ("key", "owner"))


def read_edits(value: object) -> Edits:
    """Decode an edit: only the given fields change."""
    allowed = (*EDITABLE_FIELDS, *AFTER_FIELDS, AGENT, *SHORT_TARGETS)
    fields = read_prompt(read_after(check_fields("edit", value, allowed)))
    has_target = any(fields.get(name) is not None for name in ("target", *SHORT_TARGETS))
    return Edits(
        name=fields.get("name", KEEP),
        when=fields.get("when", KEEP),
        zone=text_or_none("zone", fields.get("zone")),
        target=read_target(fields) if has_target else KEEP,
        payload=read_payload(fields) if "payload" in fields else KEEP,
        lane=text_or_none("lane", fields["lane"]) if "lane" in fields else KEEP,
        labels=_labels(fields) if "labels" in fields else KEEP,
        options=NO_OPTIONS if fields.get("policies") is None else read_policies(fields["policies"]),
    )
