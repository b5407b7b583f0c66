"""A wish, or an edit, as JSON: what the readers of tasks read is written here, for whoever asks over the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ..model.policy import Missed, Retry
from ..schedule import Once, Schedule, to_json
from ..schedule.durations import iso_duration
from ..service.tasks.edits import Edits, Keep
from ..service.tasks.task_request import NEVER, MissedWish, Options, RetryWish, When, Wish
from .tasks import target_json

_UNLIMITED: Final = frozenset({"retries", "give_up_after", "max_duration", "notify_after", "within", "attempts"})
"""Where `never` is a choice; JSON says null for it."""


def wish_json(wish: Wish, zone: str | None = None) -> dict[str, Any]:
    """What was not said is left out; `zone` is whoever asks's own, where the wish names none."""
    said = {
        "name": wish.name,
        "when": when_json(wish.when, wish.zone or zone),
        "zone": wish.zone or zone,
        "target": target_json(wish.target),
        "payload": json.loads(wish.payload),
        "owner": wish.owner,
        "key": wish.key,
        "lane": wish.lane,
        "labels": None if wish.labels is None else dict(wish.labels),
        "policies": options_json(wish.options) or None,
    }
    # A payload of null is one all the same.
    return {
        name: value for name, value in said.items() if value is not None or name == "payload" or name in wish.cleared
    }


def edits_json(edits: Edits) -> dict[str, Any]:
    """Only what is to change; null is a value of its own."""
    said: dict[str, Any] = {}
    for name in ("name", "lane"):
        if not isinstance(value := getattr(edits, name), Keep):
            said[name] = value
    if not isinstance(edits.when, Keep):
        said["when"] = when_json(edits.when, edits.zone)
    if edits.zone is not None:
        said["zone"] = edits.zone
    if not isinstance(edits.target, Keep):
        said["target"] = target_json(edits.target)
    if not isinstance(edits.payload, Keep):
        said["payload"] = json.loads(edits.payload)
    if not isinstance(edits.labels, Keep):
        said["labels"] = None if edits.labels is None else dict(edits.labels)
    if options := options_json(edits.options):
        said["policies"] = options
    return said


def when_json(when: When, zone: str | None) -> Any:
    if isinstance(when, datetime):
        return to_json(Once(at=when, zone=zone))
    if isinstance(when, Schedule):
        return to_json(when)
    return dict(when) if isinstance(when, Mapping) else when


def options_json(options: Options) -> dict[str, Any]:
    """The policies that were chosen, and no others."""
    return {name: _said(name, value) for name, value in options._asdict().items() if value is not None}


def _said(name: str, value: Any) -> Any:
    if value == NEVER and name in _UNLIMITED:
        return None
    if isinstance(value, timedelta):
        return iso_duration(value)
    if isinstance(value, MissedWish | RetryWish):
        return {part: _said(part, each) for part, each in value._asdict().items() if each is not None}
    if isinstance(value, Missed):
        return {"mode": value.mode, "within": _said("within", value.within), "limit": value.limit}
    if isinstance(value, Retry):
        parts = ("attempts", "backoff", "factor", "max", "jitter")
        return {part: _said(part, getattr(value, part)) for part in parts}
    return value
