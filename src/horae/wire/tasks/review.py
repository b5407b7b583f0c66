"""Review of a task before approval: every field in full, hidden characters as escapes.

`horae approve`, `horae show`, `GET /v1/tasks/{id}/review` and the MCP tools all show this rendering.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ...choices import Language
from ...model.accounts.account import agent_of
from ...model.accounts.secret_reference import secret_name, secret_places
from ...model.change import Facts
from ...model.task import PauseCause, Task
from ...model.text.invisible_characters import escape_hidden
from ...schedule.describe import describe_schedule
from ...service.accounts.approval_policy import digest_of
from .task import definition_json

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_EXPANDED_FIELDS: Final = frozenset({"target", "payload"})
"""Shown one line per nested field; all other fields are short and take one line each."""
_SECRET: Final = {
    "en": "SECRET {name} is revealed to the target, at {path}",
    "zh": "机密 {name} 会交给目标，位于 {path}",
}
_AGENT: Final = {"en": "made by the agent {agent}", "zh": "由智能体 {agent} 创建"}


class ReviewedSecret(NamedTuple):
    """Reference to a secret, and its path in the task."""

    name: str
    path: str


class Review(NamedTuple):
    """`lines` hold the whole task: its secrets and its agent first, then `path = value` with values as JSON."""

    task_id: str
    digest: str
    agent: str | None
    secrets: tuple[ReviewedSecret, ...]
    means: str
    fields: tuple[tuple[str, str], ...]
    language: Language

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return one line per secret that is revealed to the target."""
        template = _SECRET[self.language]
        return tuple(template.format(name=json_line(each.name), path=each.path) for each in self.secrets)

    @property
    def lines(self) -> tuple[str, ...]:
        created_by = () if self.agent is None else (_AGENT[self.language].format(agent=json_line(self.agent)),)
        return (
            *self.warnings,
            *created_by,
            escape_hidden(self.means),
            *(f"{path} = {value}" for path, value in self.fields),
        )


def review_of(task: Task, language: Language = "en") -> Review:
    shape = {"id": task.id, **definition_json(task)}
    places = (*secret_places(shape["target"], ("target",)), *secret_places(shape["payload"], ("payload",)))
    return Review(
        task.id,
        digest_of(task),
        agent_of(task),
        tuple(ReviewedSecret(place.name, _format_path(place.path)) for place in places),
        describe_schedule(task.schedule, language),
        tuple(_fields(shape)),
        language,
    )


def review_json(facts: Facts, language: Language = "en") -> dict[str, Any]:
    review = review_of(facts.task, language)
    pause = facts.status.pause
    return {
        "task_id": review.task_id,
        "digest": review.digest,
        "awaiting_approval": pause is not None and pause.cause is PauseCause.AWAITING_APPROVAL,
        "agent": review.agent,
        "secrets": [each._asdict() for each in review.secrets],
        "lines": list(review.lines),
    }


def json_line(value: Any) -> str:
    """Encode JSON on one line: strings in quotes, so that their ends are visible; hidden characters as escapes."""
    return escape_hidden(json.dumps(value, ensure_ascii=False))


def _fields(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in shape.items():
        if name in _EXPANDED_FIELDS:
            yield from _expand(value, (name,))
        else:
            yield name, json_line(value)


def _expand(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value and secret_name(value) is None:
        for key, each in value.items():
            yield from _expand(each, (*path, key))
    else:
        yield _format_path(path), json_line(value)


def _format_path(parts: tuple[str | int, ...]) -> str:
    """`target.headers.Accept`, `target.headers["X Odd"]`, `payload.items[0]`."""
    text = ""
    for part in parts:
        if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json_line(part)}]"
    return text
