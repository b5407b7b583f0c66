"""Validates the spec of an agent's task: its group, how it continues a session, its script; and its payload, the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...model.agents.budget import limits_json, read_limits
from ...model.agents.group import CHAT_CHARACTERS, is_folder
from ..refusals import CATALOGUE

_KEYS: Final = ("group", "chat", "context_mode", "script", "budget", "messages")
SCRIPT_CHARACTERS: Final = 16 * 1024


class ContextMode(StrEnum):
    GROUP = "group"
    """It continues the session of the group's chat."""
    ISOLATED = "isolated"
    """It begins without a session."""
    SERIES = "series"
    """It continues the session of the task's last run."""


class AgentSpec(NamedTuple):
    """`messages`: the turn of messages of the group, which Horae makes. `chat` is the one that an import names; the chat of
    the group counts."""

    group: str
    context_mode: ContextMode = ContextMode.ISOLATED
    script: str | None = None
    messages: bool = False
    chat: str | None = None
    budget: Mapping[str, Any] | None = None
    """Limits of the task for each day, in JSON form."""


def check_spec(spec: Any) -> AgentSpec:
    """Read a spec. Raises a `Refusal`."""
    if not isinstance(spec, Mapping):
        raise _refuse("target", spec, 'an object such as {"group": "family"}')
    for name in spec:
        if name not in _KEYS:
            raise CATALOGUE.refuse("agent_unknown_key", name=name, allowed=", ".join(_KEYS))
    group, messages = spec.get("group"), spec.get("messages", False)
    if not is_folder(group):
        raise _refuse("group", group, "the folder of a group, such as 'family'")
    if not isinstance(messages, bool):
        raise _refuse("messages", messages, "true or false")
    mode = spec.get("context_mode")
    if mode is not None and mode not in set(ContextMode):
        raise _refuse("context_mode", mode, f"one of {', '.join(ContextMode)}")
    default = ContextMode.GROUP if messages else ContextMode.ISOLATED
    return AgentSpec(
        str(group),
        default if mode is None else ContextMode(mode),
        _text("script", spec.get("script"), SCRIPT_CHARACTERS),
        messages,
        _text("chat", spec.get("chat"), CHAT_CHARACTERS),
        _budget(spec.get("budget")),
    )


def canonical_spec(spec: AgentSpec) -> dict[str, Any]:
    """Return the spec to store: without fields at their default."""
    if spec.messages:
        return {"group": spec.group, "messages": True}
    stored: dict[str, Any] = {"group": spec.group, "context_mode": spec.context_mode.value}
    if spec.chat is not None:
        stored["chat"] = spec.chat
    if spec.budget is not None:
        stored["budget"] = dict(spec.budget)
    if spec.script is not None:
        stored["script"] = spec.script
    return stored


def check_prompt(payload: Any) -> str:
    """Return the prompt of a payload. Raises a `Refusal`."""
    prompt = payload.get("prompt") if isinstance(payload, Mapping) else None
    if not isinstance(prompt, str) or not prompt.strip():
        raise _refuse("payload", payload, 'an object with a prompt, such as {"prompt": "Say good morning."}')
    return prompt


def _budget(value: Any) -> Mapping[str, Any] | None:
    return (
        None
        if value is None
        else {name: limit for name, limit in limits_json(read_limits(value)).items() if limit is not None}
    )


def _text(name: str, value: Any, most: int) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        raise _refuse(name, value, f"a text of at most {most} characters")
    return value


def _refuse(name: str, value: Any, wanted: str) -> Refusal:
    return CATALOGUE.refuse("agent_spec", name=name, value=value, wanted=wanted)
