"""A task as JSON, out and in: one shape for the command line, export, apply, HTTP and agents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..choices import Language
from ..model.change import Facts
from ..model.entry import EntryKind, Stand
from ..model.refusals import refuse
from ..model.route import is_route
from ..model.run import Run
from ..model.task import Standing, Target, Task, TaskState
from ..schedule import to_json
from ..schedule.describe import sentence
from ..service.tasks.edits import KEEP, Edits
from ..service.tasks.task_request import NO_OPTIONS, Wish
from .fields import check_fields, text_or_none
from .instants import local, utc
from .policies import policies_json, read_policies
from .runs import run_json

DEFINITION: Final = ("name", "when", "zone", "target", "payload", "key", "lane", "labels", "policies", "owner")
"""What whoever makes a task may say."""
TOLD: Final = (
    "id",
    "state",
    "means",
    "version",
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
"""What only Horae says; in a task that comes back from an export it is not looked at."""
_REMEMBERED_CHARACTERS: Final = 2_048
_written: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""Made once: `json.dumps` makes a new one for every text."""
_NO_RUNS: Final = frozenset({EntryKind.RESUME, EntryKind.DEADLINE})
"""Entries that lead to no run."""
SHORT_TARGETS: Final = ("http", "command", "function", "say", "event")
"""Instead of `target`: `"http": "https://…"`, `"command": ["backup"]`, `"function": "app.report"`, `"say": "tick"`."""


def definition_json(task: Task) -> dict[str, Any]:
    """What the task is: enough to make it again."""
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
    facts: Facts, language: Language = "en", last: Run | None = None, missed: int | None = None
) -> dict[str, Any]:
    """The task with how it stands; `last` is its newest run, and `missed` how many of its occurrences nothing could run
    within the last day, where those were looked for."""
    task = facts.task
    short = len(task.payload) + len(task.target.spec) <= _REMEMBERED_CHARACTERS
    fixed = _remembered(task, language) if short else fixed_json(task, language)
    return {**fixed, **moving_json(facts, last, missed)}


def fixed_json(task: Task, language: Language = "en") -> dict[str, Any]:
    """What does not change from run to run."""
    return {
        "id": task.id,
        **definition_json(task),
        "means": sentence(task.schedule, language),
        "version": task.version,
        "created": utc(task.created),
    }


@lru_cache(maxsize=512)
def _remembered(task: Task, language: Language) -> dict[str, Any]:
    """Who looks at a task, looks again."""
    return fixed_json(task, language)


def moving_json(facts: Facts, last: Run | None = None, missed: int | None = None) -> dict[str, Any]:
    """How it stands."""
    task = facts.task
    return {
        **stand_json(*stand_of(facts)),
        "last": None if last is None else run_json(last, task.name, task.schedule.zone),
        "missed_24h": missed,
    }


BARRED: Final = "owner"


class StandNow(NamedTuple):
    """All that a task's stand is told by: where this is the same, so is what is told."""

    standing: Standing
    upcoming: datetime | None
    zone: str | None
    running: int
    waiting: str | None


def stand_of(facts: Facts) -> StandNow:
    return StandNow(facts.standing, next_due(facts), facts.task.schedule.zone, len(facts.live), waiting_for(facts))


def stand_json(
    standing: Standing, upcoming: datetime | None, zone: str | None, running: int, waiting: str | None
) -> dict[str, Any]:
    return {
        "state": standing.state.value,
        "next": utc(upcoming),
        "next_local": local(upcoming, zone),
        **_standing_json(standing),
        "running": running,
        "waiting_for": waiting,
    }


def _standing_json(standing: Standing) -> dict[str, Any]:
    pause = standing.pause
    return {
        "counted": standing.counted,
        "failures": standing.failures,
        "skips_left": standing.skips_left,
        "pause": None
        if pause is None
        else {"since": utc(pause.since), "cause": pause.cause.value, "note": pause.note, "until": utc(pause.until)},
        "reason": None if standing.reason is None else standing.reason.value,
        "ended": utc(standing.ended),
        "last_result": standing.last_result,
    }


def target_json(target: Target) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(target.spec)
    return {"kind": target.kind, **spec}


def next_due(facts: Facts) -> datetime | None:
    """When the next thing of this task comes due; None when nothing is left, or it is paused."""
    dues = [entry.due for entry in facts.entries if entry.stand is not Stand.ASLEEP and entry.kind not in _NO_RUNS]
    return min(dues, default=None)


def waiting_for(facts: Facts) -> str | None:
    """What keeps something of it that is due: `lane:<name>`, `node:<route>`, or `run`, an earlier one of the task.

    `owner:<reason>`: nothing of it starts, because its owner or its agent may run nothing now.
    """
    if facts.barred is not None and facts.standing.state is TaskState.ACTIVE:
        return f"{BARRED}:{facts.barred.value}"
    for entry in facts.entries:
        if entry.stand is Stand.PARKED:
            return f"{'node' if is_route(entry.lane) else 'lane'}:{entry.lane}"
    return "run" if any(entry.stand is Stand.HELD for entry in facts.entries) else None


def read_task(value: object, *, exported: bool = False) -> Wish:
    """A task as somebody describes it. `exported`: what Horae itself once told of it is let pass."""
    allowed = (*DEFINITION, *SHORT_TARGETS, *(TOLD if exported else ()))
    said = check_fields("task", value, allowed)
    for name in ("name", "when"):
        if said.get(name) is None:
            raise refuse("missing_field", name=name)
    return Wish(
        name=said["name"],
        when=said["when"],
        target=read_target(said),
        payload=read_payload(said),
        owner=text_or_none("owner", said.get("owner")),
        key=text_or_none("key", said.get("key")),
        zone=text_or_none("zone", said.get("zone")),
        lane=text_or_none("lane", said.get("lane")),
        labels=_labels(said),
        options=NO_OPTIONS if said.get("policies") is None else read_policies(said["policies"]),
        cleared=frozenset(name for name in ("lane", "zone", "labels") if name in said and said[name] is None),
    )


def read_target(said: Mapping[str, Any]) -> Target:
    named = [name for name in ("target", *SHORT_TARGETS) if said.get(name) is not None]
    if len(named) != 1:
        raise refuse("missing_field", name="target") if not named else refuse("two_targets", names=", ".join(named))
    value = said[named[0]]
    return _whole_target(value) if named[0] == "target" else short_target(named[0], value)


def short_target(name: str, value: object) -> Target:
    """The few words that say most targets."""
    whole = isinstance(value, Mapping)
    match name:
        case "http":
            return _target("http", value if whole else {"url": value})
        case "command":
            return _target("command", value if whole else {"argv": value})
        case "function":
            return _target("function", value if whole else {"name": value})
        case "say":
            return _target("event", {"say": value})
        case _:
            return _target("event", value if whole else {"topic": value})


def _whole_target(value: object) -> Target:
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise refuse("missing_field", name="target.kind")
    return _target(value["kind"], {key: each for key, each in value.items() if key != "kind"})


def _target(kind: str, spec: object) -> Target:
    try:
        return Target(_kept(kind), _kept(_written(spec)))
    except (TypeError, ValueError, RecursionError):
        raise refuse("bad_payload", value="target") from None


def read_payload(said: Mapping[str, Any]) -> str:
    try:
        return _kept(_written(said.get("payload", {})))
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("bad_payload", value=error) from None


def _labels(said: Mapping[str, Any]) -> dict[str, str] | None:
    """Any names; what they and their values may be, the task itself says."""
    labels = said.get("labels")
    if labels is not None and not isinstance(labels, Mapping):
        raise refuse("bad_policy", name="labels", value=labels, wanted="JSON object")
    return None if labels is None else dict(labels)


def _kept(text: str) -> str:
    """JSON can spell half a letter (a lone surrogate), which no file can keep: a ValueError."""
    text.encode()
    return text


EDITABLE: Final = tuple(name for name in DEFINITION if name not in ("key", "owner"))


def read_edits(value: object) -> Edits:
    """Only what is said changes."""
    said = check_fields("edit", value, (*EDITABLE, *SHORT_TARGETS))
    targets = any(said.get(name) is not None for name in ("target", *SHORT_TARGETS))
    return Edits(
        name=said.get("name", KEEP),
        when=said.get("when", KEEP),
        zone=text_or_none("zone", said.get("zone")),
        target=read_target(said) if targets else KEEP,
        payload=read_payload(said) if "payload" in said else KEEP,
        lane=text_or_none("lane", said["lane"]) if "lane" in said else KEEP,
        labels=_labels(said) if "labels" in said else KEEP,
        options=NO_OPTIONS if said.get("policies") is None else read_policies(said["policies"]),
    )
