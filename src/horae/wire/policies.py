"""The policies of a task as JSON: durations in ISO 8601, null for no limit; in, any spelling that people use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from ..model.policy import Policies
from ..model.refusals import refuse
from ..schedule.durations import iso_duration
from ..service.tasks.task_request import NEVER, MissedWish, Options, RetryWish
from .fields import check_fields

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
)
_MISSED_FIELDS: Final = ("mode", "within", "limit")
_RETRY_FIELDS: Final = ("attempts", "backoff", "factor", "max", "jitter")
_UNLIMITED: Final = ("give_up_after", "max_duration", "retries", "notify_after")


def policies_json(policies: Policies) -> dict[str, Any]:
    missed, retry = policies.missed, policies.retry
    return {
        "missed": {"mode": missed.mode, "within": _length(missed.within), "limit": missed.limit},
        "overlap": policies.overlap,
        "retry": {
            "attempts": retry.attempts,
            "backoff": _length(retry.backoff),
            "factor": retry.factor,
            "max": _length(retry.max),
            "jitter": retry.jitter,
        },
        "give_up_after": policies.give_up_after,
        "timeout": _length(policies.timeout),
        "max_duration": _length(policies.max_duration),
        "guarantee": policies.guarantee,
        "priority": policies.priority,
        "notify_after": policies.notify_after,
    }


def read_policies(value: object) -> Options:
    """Only what is said is chosen; null is the choice of no limit."""
    said = check_fields("policies", value, POLICY_FIELDS)
    chosen: dict[str, Any] = {name: NEVER if said[name] is None else said[name] for name in _UNLIMITED if name in said}
    chosen |= {
        name: said[name] for name in ("overlap", "timeout", "guarantee", "priority") if said.get(name) is not None
    }
    if said.get("missed") is not None:
        chosen["missed"] = _missed(said["missed"])
    if said.get("retry") is not None:
        chosen["retry"] = _retry(said["retry"])
    return Options(**chosen)


def _missed(value: object) -> str | MissedWish:
    """`"latest within 1h"`, or the parts that are meant; null is the choice of no bound."""
    if isinstance(value, str):
        return value
    said = check_fields("missed", value, _MISSED_FIELDS)
    if not said:
        raise refuse("missing_field", name="missed.mode")
    return MissedWish(**_parts("missed", said, unlimited="within"))


def _retry(value: object) -> RetryWish:
    return RetryWish(**_parts("retry", check_fields("retry", value, _RETRY_FIELDS), unlimited="attempts"))


def _parts(name: str, said: Mapping[str, Any], *, unlimited: str) -> dict[str, Any]:
    """Only these are chosen. Where there must be a value, null is none."""
    for part, value in said.items():
        if value is None and part != unlimited:
            raise refuse("bad_policy", name=f"{name}.{part}", value="null", wanted="JSON")
    return {part: NEVER if value is None else value for part, value in said.items()}


def _length(span: timedelta | None) -> str | None:
    return None if span is None else iso_duration(span)
