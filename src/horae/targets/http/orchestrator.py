"""The preset `orchestrator`: a payload becomes a call that an agent orchestrator dispatches, by that trade's own rules.

The agent and the items of a call are the orchestrator's to choose: what a payload says of them is left out.
"""

from __future__ import annotations

from typing import Any

from ...model.task import Task
from .refusals import refuse
from .settings import HttpSettings


def check_payload(payload: Any) -> None:
    _text(payload)
    _context(payload)


def dispatch(payload: Any, task: Task, settings: HttpSettings) -> dict[str, Any]:
    """The body of the call."""
    return {
        "text": _text(payload),
        # Whose it is and where it comes from is ours to say, whatever the payload says of it.
        "context": _context(payload) | {"user_id": task.owner, "scheduled_task_id": task.id},
        "default_agent": _chosen(payload, "default_agent", settings.default_agent),
        "mode": _chosen(payload, "mode", settings.mode),
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


def _chosen(payload: dict[str, Any], name: str, usual: str) -> str:
    chosen = payload.get(name)
    return chosen if isinstance(chosen, str) and chosen.strip() else usual
