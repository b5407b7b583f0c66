"""Targets to JSON and back: in full, and by the shorthands of a task request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ...json_encoder import SPACED, make_encoder
from ...model.refusals import refuse
from ...model.task import Target
from ..fields import check_fields

_encode: Final = make_encoder(SPACED, allow_nan=False)
SHORT_TARGETS: Final = ("http", "command", "function", "say", "event")
"""Shorthands for `target`: `"http": "https://…"`, `"command": ["backup"]`, `"function": "app.report"`, `"say": "tick"`.
"""


AGENT: Final = "agent"
"""Shorthand for a prompt to the agent of a group: `"agent": {"group": "family", "prompt": "Say good morning."}`."""
_AGENT_FIELDS: Final = ("group", "prompt", "context_mode", "script", "budget")


def read_prompt(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a request with `agent`, if given, as the target and the payload that it stands for."""
    value = fields.get(AGENT)
    if value is None:
        return fields
    others = [name for name in ("target", *SHORT_TARGETS) if fields.get(name) is not None]
    if others:
        raise refuse("two_targets", names=", ".join([*others, AGENT]))
    spec = dict(check_fields(AGENT, {"group": value} if isinstance(value, str) else value, _AGENT_FIELDS))
    prompt = spec.pop("prompt", None)
    request = {name: each for name, each in fields.items() if name != AGENT} | {"target": {"kind": AGENT, **spec}}
    if prompt is None:
        return request
    payload = fields.get("payload", {})
    if not isinstance(payload, Mapping):
        raise refuse("bad_policy", name="payload", value=payload, wanted="JSON object")
    return request | {"payload": {**payload, "prompt": prompt}}


def target_json(target: Target) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(target.spec)
    return {"kind": target.kind, **spec}


def read_target(fields: Mapping[str, Any]) -> Target:
    given = [name for name in ("target", *SHORT_TARGETS) if fields.get(name) is not None]
    if len(given) != 1:
        raise refuse("missing_field", name="target") if not given else refuse("two_targets", names=", ".join(given))
    value = fields[given[0]]
    return _full_target(value) if given[0] == "target" else target_from_shorthand(given[0], value)


def target_from_shorthand(name: str, value: object) -> Target:
    """Build a target from its shorthand."""
    is_spec = isinstance(value, Mapping)
    match name:
        case "http":
            return _target("http", value if is_spec else {"url": value})
        case "command":
            return _target("command", value if is_spec else {"argv": value})
        case "function":
            return _target("function", value if is_spec else {"name": value})
        case "say":
            return _target("event", {"say": value})
        case _:
            return _target("event", value if is_spec else {"topic": value})


def _full_target(value: object) -> Target:
    if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
        raise refuse("missing_field", name="target.kind")
    return _target(value["kind"], {key: each for key, each in value.items() if key != "kind"})


def _target(kind: str, spec: object) -> Target:
    try:
        return Target(check_encodable(kind), check_encodable(_encode(spec)))
    except (TypeError, ValueError, RecursionError):
        raise refuse("bad_payload", value="target") from None


def check_encodable(text: str) -> str:
    """Return the text; ValueError for a lone surrogate, which JSON can escape but UTF-8 cannot hold."""
    text.encode()
    return text
