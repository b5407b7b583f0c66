"""Task requests and edits to JSON, for clients: the inverse of the readers in `tasks`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ...model.gate import Gate
from ...model.policy import Missed, Notify, RetryPolicy
from ...model.task import TaskPast
from ...schedule import Once, Schedule, to_json
from ...schedule.durations import format_iso_duration
from ...service.tasks.edits import Edits, Keep
from ...service.tasks.task_request import NEVER, MissedRequest, Options, RetryRequest, TaskRequest, When
from .policies import gate_json, notify_json
from .targets import target_json

_UNLIMITED: Final = frozenset(
    {"retries", "give_up_after", "max_duration", "notify_after", "start_within", "notify", "gate", "within", "attempts"}
)
"""Options for which `never` is a choice; JSON null stands for it."""


def task_request_json(request: TaskRequest, zone: str | None = None) -> dict[str, Any]:
    """Encode a task request; unset fields are left out. `zone` is the caller's zone, used where the request names none."""
    fields = {
        "name": request.name,
        "when": when_json(request.when, request.zone or zone),
        "zone": request.zone or zone,
        "target": target_json(request.target),
        "payload": json.loads(request.payload),
        "owner": request.owner,
        "key": request.key,
        "lane": request.lane,
        "labels": None if request.labels is None else dict(request.labels),
        "policies": options_json(request.options) or None,
        "past": None if request.past is None else _past_json(request.past),
    }
    # A null payload is a value, not an unset field.
    return {
        name: value
        for name, value in fields.items()
        if value is not None or name == "payload" or name in request.cleared
    }


def _past_json(past: TaskPast) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in past._asdict().items()
        if value is not None
    }


def edits_json(edits: Edits) -> dict[str, Any]:
    """Encode only the fields to change; null is a value of its own."""
    fields: dict[str, Any] = {}
    for name in ("name", "lane"):
        if not isinstance(value := getattr(edits, name), Keep):
            fields[name] = value
    if not isinstance(edits.when, Keep):
        fields["when"] = when_json(edits.when, edits.zone)
    if edits.zone is not None:
        fields["zone"] = edits.zone
    if not isinstance(edits.target, Keep):
        fields["target"] = target_json(edits.target)
    if not isinstance(edits.payload, Keep):
        fields["payload"] = json.loads(edits.payload)
    if not isinstance(edits.labels, Keep):
        fields["labels"] = None if edits.labels is None else dict(edits.labels)
    if options := options_json(edits.options):
        fields["policies"] = options
    return fields


def when_json(when: When, zone: str | None) -> Any:
    if isinstance(when, datetime):
        return to_json(Once(at=when, zone=zone))
    if isinstance(when, Schedule):
        return to_json(when)
    if isinstance(when, list | tuple):
        return [when_json(each, zone) for each in when]
    return dict(when) if isinstance(when, Mapping) else when


def options_json(options: Options) -> dict[str, Any]:
    """Encode the chosen policies only."""
    return {name: _option_json(name, value) for name, value in options._asdict().items() if value is not None}


def _option_json(name: str, value: Any) -> Any:
    if value == NEVER and name in _UNLIMITED:
        return None
    if isinstance(value, timedelta):
        return format_iso_duration(value)
    if isinstance(value, MissedRequest | RetryRequest):
        return {part: _option_json(part, each) for part, each in value._asdict().items() if each is not None}
    if isinstance(value, Missed):
        return {"mode": value.mode, "within": _option_json("within", value.within), "limit": value.limit}
    if isinstance(value, Notify):
        return notify_json(value)
    if isinstance(value, Gate):
        return gate_json(value)
    if name == "lanes":
        return list(value)
    if isinstance(value, RetryPolicy):
        parts = ("attempts", "backoff", "factor", "max", "jitter", "superseded_by_next")
        return {part: _option_json(part, getattr(value, part)) for part in parts}
    return value
