"""JSON pointers (RFC 6901) from a refusal to the field of the request body that it names."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidSchedule, Refusal
from ..model.accounts.principal import Quotas
from ..service.query.refusals import CATALOGUE as QUERIES
from .tasks.policies import POLICY_FIELDS

_POLICY_OF_PART: Final = {
    "backoff": "retry",
    "factor": "retry",
    "max": "retry",
    "jitter": "retry",
    "superseded_by_next": "retry",
    "attempts": "retry",
    "within": "missed",
}
_PARENTS: Final = frozenset({"policies", "past", *POLICY_FIELDS})
"""Objects within a task: an unknown field of one is named without it."""
_NOTIFY_LISTS: Final = frozenset({"to", "on"})
_POLICY_NAMES: Final = frozenset({*POLICY_FIELDS, *_POLICY_OF_PART})
_CODES_WITH_FIELD: Final = frozenset(
    {
        "bad_policy",
        "bad_choice",
        "bad_number",
        "bad_list",
        "bad_rate",
        "bad_lane_placeholder",
        "bad_duration",
        "bad_text",
        "invisible_character",
        "unknown_field",
        "missing_field",
        "unknown_policy",
        "unknown_placeholder",
        "placeholder_place",
        "bad_past",
        "bad_run_input",
        "one_input",
        "input_too_large",
        "backfill_input_too_large",
        *QUERIES,
    }
)
_CODES_WITH_TARGET_FIELD: Final = frozenset(
    {"http_bad_value", "http_unknown_key", "command_number", "command_unknown_key", "event_unknown_key"}
)
"""Refusals that name a field of the target's specification."""
_LIMIT_CODES: Final = frozenset({"bad_number", "bad_duration"})
"""Refusals of the value of a quota; a list of lanes of a task is refused by another code."""
_POINTER_BY_CODE: Final = {
    "bad_when": "/when",
    "never_fires": "/when",
    "after_count": "/after",
    "after_twice": "/after",
    "after_and_schedule": "/after",
    "unknown_predecessor": "/after",
    "chain_cycle": "/after",
    "chain_too_deep": "/after",
    "chain_over_quota": "/after",
    "too_many_task_lanes": "/policies/lanes",
    "task_lanes_over_quota": "/policies/lanes",
    "gate_state_parallel": "/policies/gate/state",
    "no_gate": "/gate_only",
    "too_many_successors": "/after",
    "join_of_several_roots": "/after",
    "past_not_allowed": "/past",
    "bad_labels": "/labels",
    "bad_where": "/policies/where",
    "where_too_long": "/policies/where",
    "bad_payload": "/payload",
    "payload_too_large": "/payload",
    "bad_arguments": "/payload",
    "unknown_argument": "/payload",
    "missing_argument": "/payload",
    "arguments_not_object": "/payload",
    "unknown_destination": "/policies/notify/to",
    "bad_quiet_hours": "/quiet",
    "bad_folder": "/folder",
    "bad_chat_address": "/chat",
    "chat_taken": "/chat",
    "bad_mount": "/mounts",
    "mount_name_twice": "/mounts",
    "destination_url_missing": "/url",
    "notify_schema": "/url",
    "notify_url": "/url",
    "notify_url_text": "/url",
    "notify_host_schema": "/url",
    "unknown_target": "/target/kind",
    "two_targets": "/target",
    "key_taken": "/key",
    "key_of_cancelled": "/key",
    "http_url_missing": "/target/url",
    "http_body_too_large": "/target/body",
    "orchestrator_request": "/target/preset",
    "orchestrator_text": "/payload",
    "orchestrator_context": "/payload",
    "command_argv": "/target/argv",
    "command_shell": "/target/argv",
    "command_secret_in_argv": "/target/argv",
    "command_none_allowed": "/target/argv",
    "command_not_allowed": "/target/argv",
    "command_directory": "/target/directory",
    "command_variable": "/target/environment",
    "command_variable_reserved": "/target/environment",
    "command_stdin": "/target/stdin",
    "command_success": "/target/success",
    "event_topic": "/target/topic",
    "event_topic_reserved": "/target/topic",
    "event_say": "/target/say",
    "empty_message": "/text",
    "no_messages": "/messages",
    "bad_keep_for": "/keep_for",
    "unstorable_message": "/text",
    "message_too_large": "/text",
    "bad_references": "/references",
    "too_many_messages": "/messages",
}


def pointer_to(refusal: Refusal) -> str | None:
    """Return the JSON pointer of the refused field; None if the refusal is about no field. A refusal with a `number` is
    about one task of a list, one with a `place` about one message of a list, one with a `gate` about the check of that kind, one with an `input` about the input of a run, one with
    a `resource` about an object that is no task."""
    number = refusal.facts.get("number")
    pointer = _pointer_in_task(refusal)
    gate = refusal.facts.get("gate")
    if gate is not None and pointer is not None and pointer.startswith("/target"):
        # The kind of the check is the name of its field, and the field says all there is in the short form.
        pointer = f"/policies/gate/{gate}".rstrip("/")
    mode = refusal.facts.get("input")
    if mode is not None and pointer == "/payload":
        pointer = f"/input/{mode}"
    if pointer is None:
        return None
    place = refusal.facts.get("place")
    if type(place) is int:
        return f"/messages/{place}{pointer}"
    return pointer if type(number) is not int else f"/tasks/{number - 1}{pointer}"


def _pointer_in_task(refusal: Refusal) -> str | None:
    if refusal.code in _POINTER_BY_CODE:
        return _POINTER_BY_CODE[refusal.code]
    if isinstance(refusal, InvalidSchedule) and refusal.facts.get("field") == "zone":
        return "/zone"
    if isinstance(refusal, InvalidSchedule):
        return f"/when{refusal.facts.get('pointer', '')}"
    name = refusal.facts.get("name")
    if not isinstance(name, str):
        return None
    if refusal.code in _CODES_WITH_TARGET_FIELD:
        return _pointer(["target", *name[:200].split(".")])
    if refusal.code not in _CODES_WITH_FIELD:
        return None
    if refusal.code in _LIMIT_CODES and name in Quotas._fields:
        return f"/quotas/{name}"
    parent = refusal.facts.get("parent")
    if refusal.code == "bad_list" and name in _NOTIFY_LISTS:
        return f"/policies/notify/{name}"
    if refusal.facts.get("resource") is not None:
        return _pointer(name[:200].split("."))
    return _path(f"{parent}.{name}" if parent in _PARENTS else name)


def _path(name: str) -> str:
    parts = name[:200].split(".")
    if parts[0] in _POLICY_NAMES:
        parts = ["policies", *([_POLICY_OF_PART[parts[0]]] if parts[0] in _POLICY_OF_PART else []), *parts]
    return _pointer(parts)


def _pointer(parts: list[str]) -> str:
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)
