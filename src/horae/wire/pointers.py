"""JSON pointers (RFC 6901) from a refusal to the field of the request body that it names."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidSchedule, Refusal
from ..service.query.refusals import CATALOGUE as QUERIES
from .policies import POLICY_FIELDS

_POLICY_NAMES: Final = frozenset({*POLICY_FIELDS, "backoff", "factor", "max", "jitter", "attempts", "within"})
_POLICY_OF_PART: Final = {
    "backoff": "retry",
    "factor": "retry",
    "max": "retry",
    "jitter": "retry",
    "attempts": "retry",
    "within": "missed",
}
_CODES_WITH_FIELD: Final = frozenset(
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
_POINTER_BY_CODE: Final = {
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
    """Return the JSON pointer of the refused field; None if the refusal is about no field. A refusal with a `number` is
    about one task of a list."""
    number = refusal.facts.get("number")
    pointer = _pointer_in_task(refusal)
    if pointer is None:
        return None
    return pointer if type(number) is not int else f"/tasks/{number - 1}{pointer}"


def _pointer_in_task(refusal: Refusal) -> str | None:
    if isinstance(refusal, InvalidSchedule):
        return "/when"
    if refusal.code in _POINTER_BY_CODE:
        return _POINTER_BY_CODE[refusal.code]
    name = refusal.facts.get("name")
    if refusal.code not in _CODES_WITH_FIELD or not isinstance(name, str):
        return None
    return _path(name)


def _path(name: str) -> str:
    parts = name[:200].split(".")
    if parts[0] in _POLICY_NAMES:
        parts = ["policies", *([_POLICY_OF_PART[parts[0]]] if parts[0] in _POLICY_OF_PART else []), *parts]
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)
