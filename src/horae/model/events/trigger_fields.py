"""The fields that tell that a task is due: the same to those in the process, to Redis, in the log and in webhooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

from ..ids import occurrence_key
from ..run import Run
from ..task import Task

_EVENTS: Final = UUID("6a3f3c39-8f3c-5d57-9a57-5b1d3c4f7a10")
"""The space in which idempotency keys become event ids."""


def triggered_json(
    task: Task, run: Run, spec: Mapping[str, Any], at: datetime, trace: str | None = None
) -> dict[str, Any]:
    """Every attempt at an occurrence has the same `eventId`: who has seen it may let the second one pass."""
    key = occurrence_key(task.id, run.origin, run.planned)
    payload = json.loads(task.payload or "null")
    about = payload if isinstance(payload, dict) else {}
    body = {
        "eventId": str(uuid5(_EVENTS, key)),
        "type": spec["topic"],
        "occurredOn": at.isoformat(),
        "taskUuid": task.id,
        "sourceType": _named(about.get("sourceType"), "unknown"),
        "sourceId": _named(about.get("sourceId"), task.id),
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


def _named(value: Any, otherwise: str) -> str:
    """A text that says something, or a number; anything else names nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return otherwise
    return str(value) or otherwise
