"""Fields of the `task.triggered` event, the same for in-process listeners, Redis, the event log and webhooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from ..ids import occurrence_key
from ..run import Run
from ..task import Task

_EVENT_NAMESPACE: Final = UUID("6a3f3c39-8f3c-5d57-9a57-5b1d3c4f7a10")
"""UUID namespace for event ids derived from idempotency keys."""

DETAILS_KEY: Final = "compat"
"""Key in a payload of the descriptive fields of `/schedules`; surfaces show them as fields of their own, and readers of a
schedule's event find them here."""


class Alert(NamedTuple):
    """The `alertConfig` of a schedule, as far as messages to people need it."""

    methods: tuple[str, ...]
    """In lower case, such as `email`."""
    text: str


def alert_of(payload: str) -> Alert | None:
    """Return the alert of a task of `/schedules`; None for any other task."""
    if f'"{DETAILS_KEY}"' not in payload:
        return None  # the common case, without parsing
    value = json.loads(payload)
    details = value.get(DETAILS_KEY) if isinstance(value, dict) else None
    if not isinstance(details, dict) or not isinstance(details.get("alertConfig"), dict):
        return None
    methods = details["alertConfig"].get("methods")
    names = tuple(str(each).lower() for each in methods) if isinstance(methods, list) else ()
    return Alert(names, _text_or(details.get("description"), ""))


def triggered_json(
    task: Task, run: Run, spec: Mapping[str, Any], at: datetime, trace: str | None = None
) -> dict[str, Any]:
    """Return the event body. All attempts at an occurrence have the same `eventId`, so that receivers can deduplicate."""
    key = occurrence_key(task.id, run.origin, run.planned)
    payload = json.loads(task.payload or "null")
    source = payload if isinstance(payload, dict) else {}
    body = {
        "eventId": str(uuid5(_EVENT_NAMESPACE, key)),
        "type": spec["topic"],
        "occurredOn": at.isoformat(),
        "taskUuid": task.id,
        "sourceType": _text_or(source.get("sourceType"), "unknown"),
        "sourceId": _text_or(source.get("sourceId"), task.id),
        "accountUuid": task.owner,
        "payload": payload,
        "title": task.name,
        "priority": task.policies.priority,
        "labels": dict(task.labels),
        "runId": run.id,
        "key": key,
        "trace": trace,
        "origin": str(run.origin),
        "planned": run.planned.isoformat(),
        "due": run.occurrence_due.isoformat(),
        "attempt": run.attempt,
    }
    return body if spec.get("say") is None else {**body, "text": spec["say"]}


def _text_or(value: Any, default: str) -> str:
    """Return a non-empty text or a number as text; the default for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return default
    return str(value) or default


def reached_no_listener(kind: str, result: str | None) -> bool:
    """Return whether a run of an event target published an event that no listener received."""
    if kind != "event" or not result:
        return False
    try:
        body = json.loads(result)
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("delivered") == 0 and body["delivered"] is not False
