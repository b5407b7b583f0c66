"""Task policies to JSON and back: durations as ISO 8601 and null for no limit; every spelling of a duration is
accepted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from ...errors import Refusal
from ...model.gate import GATE_KINDS, Gate
from ...model.lanes.node_labels import read_where
from ...model.policy import INCIDENT_OCCASIONS, Notify, Policies, notify_to_json
from ...model.refusals import refuse
from ...model.task import Target
from ...schedule.durations import format_iso_duration
from ...service.tasks.task_request import NEVER, MissedRequest, Options, RetryRequest, read_duration
from ..fields import check_fields
from .targets import read_target, target_json

POLICY_FIELDS: Final = (
    "missed",
    "overlap",
    "retry",
    "retries",
    "give_up_after",
    "timeout",
    "max_duration",
    "guarantee",
    "priority",
    "notify_after",
    "start_within",
    "notify",
    "gate",
    "where",
    "lanes",
)
_MISSED_FIELDS: Final = ("mode", "within", "limit")
_RETRY_FIELDS: Final = ("attempts", "backoff", "factor", "max", "jitter", "superseded_by_next")
_NOTIFY_FIELDS: Final = ("to", "on", "text")
_GATE_FIELDS: Final = ("target", *GATE_KINDS, "timeout", "state")
_UNLIMITED: Final = ("give_up_after", "max_duration", "retries", "notify_after", "start_within")


def policies_json(policies: Policies) -> dict[str, Any]:
    missed, retry = policies.missed, policies.retry
    return {
        "missed": {"mode": missed.mode, "within": _duration_json(missed.within), "limit": missed.limit},
        "overlap": policies.overlap,
        "retry": {
            "attempts": retry.attempts,
            "backoff": _duration_json(retry.backoff),
            "factor": retry.factor,
            "max": _duration_json(retry.max),
            "jitter": retry.jitter,
            "superseded_by_next": retry.superseded_by_next,
        },
        "give_up_after": policies.give_up_after,
        "timeout": _duration_json(policies.timeout),
        "max_duration": _duration_json(policies.max_duration),
        "guarantee": policies.guarantee,
        "priority": policies.priority,
        "notify_after": policies.notify_after,
        "start_within": _duration_json(policies.start_within),
        "notify": notify_json(policies.notify),
        "gate": gate_json(policies.gate),
        "where": dict(policies.where),
        "lanes": list(policies.lanes),
    }


def read_policies(value: object) -> Options:
    """Decode the chosen options; absent fields are not chosen, null chooses no limit."""
    fields = check_fields("policies", value, POLICY_FIELDS)
    chosen: dict[str, Any] = {
        name: NEVER if fields[name] is None else fields[name] for name in _UNLIMITED if name in fields
    }
    chosen |= {
        name: fields[name] for name in ("overlap", "timeout", "guarantee", "priority") if fields.get(name) is not None
    }
    if fields.get("missed") is not None:
        chosen["missed"] = _read_missed(fields["missed"])
    if fields.get("retry") is not None:
        chosen["retry"] = _read_retry(fields["retry"])
    if "notify" in fields:
        chosen["notify"] = NEVER if fields["notify"] is None else _read_notify(fields["notify"])
    if "gate" in fields:
        chosen["gate"] = NEVER if fields["gate"] is None else read_gate(fields["gate"])
    if "where" in fields:
        chosen["where"] = {} if fields["where"] is None else dict(read_where(fields["where"]))
    if "lanes" in fields:
        chosen["lanes"] = () if fields["lanes"] is None else fields["lanes"]
    return Options(**chosen)


def notify_json(notify: Notify | None) -> dict[str, Any] | None:
    return None if notify is None else notify_to_json(notify)


def gate_json(gate: Gate | None) -> dict[str, Any] | None:
    if gate is None:
        return None
    target = target_json(Target(gate.kind, gate.spec))
    return {"target": target, "timeout": _duration_json(gate.timeout), "state": gate.state}


def read_gate(value: object) -> Gate:
    """Decode a gate: its target in full, or as `{"command": [...]}`, `{"http": …}` or `{"function": …}`."""
    fields = check_fields("gate", value, _GATE_FIELDS)
    try:
        target = read_target({name: each for name, each in fields.items() if name not in ("timeout", "state")})
    except Refusal as refusal:
        if str(refusal.facts.get("name", "")).startswith("target"):
            refusal.facts["name"] = f"gate.{refusal.facts['name']}"
        if refusal.code == "two_targets":
            refusal.facts["gate"] = ""  # of several kinds
        raise
    chosen = {name: fields[name] for name in ("timeout", "state") if fields.get(name) is not None}
    if "timeout" in chosen:
        chosen["timeout"] = read_duration("gate.timeout", chosen["timeout"])
    return Gate(target.kind, target.spec, **chosen)  # type: ignore[arg-type]  # the gate refuses other kinds


def _read_notify(value: object) -> Notify:
    fields = check_fields("notify", value, _NOTIFY_FIELDS)
    if fields.get("to") is None:
        raise refuse("missing_field", name="notify.to")
    on = INCIDENT_OCCASIONS if fields.get("on") is None else fields["on"]
    text = fields.get("text")
    return Notify(_read_list(fields["to"]), _read_list(on), "" if text is None else text)


def _read_list(value: Any) -> Any:
    """Return a list as a tuple; another value as it is, for the policy to refuse."""
    is_list = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return tuple(value) if is_list else None


def _read_missed(value: object) -> str | MissedRequest:
    """Accept `"latest within 1h"`, or an object of parts; null means no bound."""
    if isinstance(value, str):
        return value
    fields = check_fields("missed", value, _MISSED_FIELDS)
    if not fields:
        raise refuse("missing_field", name="missed.mode")
    return MissedRequest(**_read_parts("missed", fields, unlimited="within"))


def _read_retry(value: object) -> RetryRequest:
    return RetryRequest(**_read_parts("retry", check_fields("retry", value, _RETRY_FIELDS), unlimited="attempts"))


def _read_parts(name: str, fields: Mapping[str, Any], *, unlimited: str) -> dict[str, Any]:
    """Return the given parts. Null is accepted only for `unlimited`."""
    for part, value in fields.items():
        if value is None and part != unlimited:
            raise refuse("bad_policy", name=f"{name}.{part}", value="null", wanted="JSON")
    return {part: NEVER if value is None else value for part, value in fields.items()}


def _duration_json(duration: timedelta | None) -> str | None:
    return None if duration is None else format_iso_duration(duration)
