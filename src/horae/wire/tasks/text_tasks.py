"""Tasks that carry a text: the orchestrator executes it where one is configured, else it is published as an event.

`/scheduled-tasks` and the simple view of the console create, edit and show these tasks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ...model.accounts.principal import RESERVED_LABEL_PREFIX
from ...model.refusals import refuse
from ...model.run import Run
from ...model.task import Target, Task
from ...schedule.compat import fun_ai_station
from ...service.tasks.edits import Edits
from ...service.tasks.task_request import TaskRequest, When
from ..runs import result_of
from .policies import read_policies

SURFACE: Final = "compat.surface"
"""Label: the surface through which the task was created."""
UPDATED: Final = "compat.updated"
"""Label: the time of the last edit through a compatible surface or the simple view."""
SCHEDULED_TASKS: Final = "scheduled-tasks"
_PRESET: Final = "orchestrator"
_DISPATCH: Final = "/dispatch/execute"


def text_request(
    orchestrator: str | None, name: str, when: When, text: str, *, zone: str, now: datetime
) -> TaskRequest:
    """Return the request for a task with this text. `orchestrator` is the URL of the setting; None: the task publishes
    its text."""
    if not text:
        raise refuse("missing_field", name="text")
    if orchestrator:
        payload = json.dumps({"text": text}, ensure_ascii=False)
        return orchestrator_request(orchestrator, name, when, payload, zone=zone, now=now)
    return TaskRequest(name=name, when=when, target=_event(say=text), zone=zone)


def orchestrator_request(
    orchestrator: str, name: str, when: When, payload: str, *, zone: str, now: datetime
) -> TaskRequest:
    """Return the request for a task that the orchestrator executes: a failure is tried again every minute, for ever."""
    return TaskRequest(
        name=name,
        when=when,
        target=orchestrator_target(orchestrator),
        payload=payload,
        zone=zone,
        labels={SURFACE: SCHEDULED_TASKS, UPDATED: now.isoformat()},
        options=read_policies(fun_ai_station.FAILURE_POLICIES),
    )


def orchestrator_target(url: str) -> Target:
    return Target("http", json.dumps({"preset": _PRESET, "url": url.rstrip("/") + _DISPATCH}))


def is_orchestrator(target: Target) -> bool:
    return target.kind == "http" and _read_object(target.spec).get("preset") == _PRESET


def text_of(task: Task) -> str | None:
    """Return the text of a task; None if its target takes no text."""
    if is_orchestrator(task.target):
        payload = _read_object(task.payload)
        text = payload.get("text", payload.get("input"))
    else:
        text = _read_object(task.target.spec).get("say") if task.target.kind == "event" else None
    return text if isinstance(text, str) else None


def replace_text(task: Task, text: str, edits: Edits) -> Edits:
    """Return the edits with a new text. Other fields of the payload and of the target stay."""
    if not text:
        raise refuse("missing_field", name="text")
    if is_orchestrator(task.target):
        payload = {**_read_object(task.payload), "text": text}
        return edits._replace(payload=json.dumps(payload, ensure_ascii=False))
    return edits._replace(target=_event(**{**_read_object(task.target.spec), "say": text}))


def with_labels(task: Task, marks: Mapping[str, str]) -> dict[str, str]:
    """Return the task's labels with `marks` added, without those that only the service writes."""
    own_labels = {name: value for name, value in task.labels if not name.startswith(RESERVED_LABEL_PREFIX)}
    return own_labels | dict(marks)


def answer_of(run: Run, target: Target) -> Any:
    """Return the result; of an orchestrator's, its JSON without the HTTP status that an http target stores with it."""
    result = result_of(run)
    is_wrapped = isinstance(result, dict) and {"status", "body"} <= result.keys() <= {"status", "body", "truncated"}
    return result["body"] if is_wrapped and is_orchestrator(target) else result


def _event(**spec: Any) -> Target:
    return Target("event", json.dumps(spec, ensure_ascii=False))


def _read_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    return value if isinstance(value, dict) else {}
