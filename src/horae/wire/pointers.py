"""Where in a JSON document a refusal points to (RFC 6901), as far as it names its field."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidSchedule, Refusal
from ..service.query.refusals import CATALOGUE as QUERIES
from .policies import POLICY_FIELDS

_IN_POLICIES: Final = frozenset({*POLICY_FIELDS, "backoff", "factor", "max", "jitter", "attempts", "within"})
_OF_PARTS: Final = {
    "backoff": "retry",
    "factor": "retry",
    "max": "retry",
    "jitter": "retry",
    "attempts": "retry",
    "within": "missed",
}
_NAME_A_FIELD: Final = frozenset(
    {
        "bad_policy",
        "bad_choice",
        "bad_number",
        "bad_number_or_never",
        "bad_duration",
        "bad_text",
        "invisible_character",
        "unknown_field",
        "missing_field",
        "unknown_policy",
        *QUERIES,
    }
)
_FIXED: Final = {
    "bad_when": "/when",
    "never_fires": "/when",
    "bad_labels": "/labels",
    "bad_payload": "/payload",
    "payload_too_large": "/payload",
    "bad_arguments": "/payload",
    "unknown_argument": "/payload",
    "missing_argument": "/payload",
    "arguments_not_object": "/payload",
    "unknown_target": "/target/kind",
    "two_targets": "/target",
}


def pointer_to(refusal: Refusal) -> str | None:
    """None where it is about no field."""
    number = refusal.facts.get("number")
    inside = _inside(refusal)
    if inside is None:
        return None
    return inside if type(number) is not int else f"/tasks/{number - 1}{inside}"


def _inside(refusal: Refusal) -> str | None:
    if isinstance(refusal, InvalidSchedule):
        return "/when"
    if refusal.code in _FIXED:
        return _FIXED[refusal.code]
    name = refusal.facts.get("name")
    if refusal.code not in _NAME_A_FIELD or not isinstance(name, str):
        return None
    return _path(name)


def _path(name: str) -> str:
    parts = name[:200].split(".")
    if parts[0] in _IN_POLICIES:
        parts = ["policies", *([_OF_PARTS[parts[0]]] if parts[0] in _OF_PARTS else []), *parts]
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)
