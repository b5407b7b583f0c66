"""Preset `orchestrator` of the http target: builds the request body that an agent orchestrator expects from a payload.

The orchestrator chooses the agent and the items of a call: those fields of a payload are dropped.
"""

from __future__ import annotations

from typing import Any

from ...model.task import Task
from .refusals import refuse
from .settings import HttpSettings


def check_payload(payload: Any) -> None:
    _text(payload)
    _context(payload)


def build_body(payload: Any, task: Task, settings: HttpSettings) -> dict[str, Any]:
    """Return the body of the request."""
    return {
        "text": _text(payload),
        # Owner and task id are always Horae's values, whatever the payload contains.
        "context": _context(payload) | {"user_id": task.owner, "scheduled_task_id": task.id},
        "default_agent": _text_or_default(payload, "default_agent", settings.default_agent),
        "mode": _text_or_default(payload, "mode", settings.mode),
    }


def _text(payload: Any) -> str:
    for name in ("text", "input"):
        text = payload.get(name) if isinstance(payload, dict) else None
        if isinstance(text, str) and text.strip():
            return text
    raise refuse("orchestrator_text")


def _context(payload: dict[str, Any]) -> dict[str, Any]:
    context = payload.get("context")
    if context is not None and not isinstance(context, dict):
        raise refuse("orchestrator_context")
    return dict(context or {})


def _text_or_default(payload: dict[str, Any], name: str, default: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) and value.strip() else default
