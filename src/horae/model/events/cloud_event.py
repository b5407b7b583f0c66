"""What happened, as CloudEvents 1.0: the one body that streams, pages and webhooks share. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any, Final
from urllib.parse import quote

from .event import Event, Numbered

SPEC: Final = "1.0"
_PREFIX: Final = "dev.horae."
_VERSION: Final = ".v1"
_SEQUENCE_DIGITS: Final = 19
"""As many as the largest number of an event has."""
LARGEST: Final = 20 * 1024
"""Bytes of a body, as receivers of webhooks may expect it."""


def cloud_event(numbered: Numbered, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`more` is what else is known of it; what would make it too large for a webhook is left out."""
    number, event = numbered
    shape = envelope(f"evt_{number}", event, {"number": number, **_data(event), **(more or {})})
    shape["sequence"] = sequence_of(number)
    if more and len(encoded(shape)) > LARGEST:
        return cloud_event(numbered, _smaller(more))
    return shape


def sequence_of(number: int) -> str:
    """The `sequence` of an event: comparing two of them as texts orders the events."""
    return f"{number:0{_SEQUENCE_DIGITS}d}"


def envelope(name: str, event: Event, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "specversion": SPEC,
        "id": name,
        "source": f"/owners/{quote(event.owner, safe='')}",
        "type": type_of(event.kind),
        "subject": subject_of(event),
        "time": event.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": dict(data),
    }


def type_of(kind: str) -> str:
    """`dev.horae.run.succeeded.v1`."""
    return f"{_PREFIX}{kind}{_VERSION}"


def subject_of(event: Event) -> str:
    return event.task_id if event.run_id is None else f"{event.task_id}/{event.run_id}"


def encoded(shape: Mapping[str, Any]) -> bytes:
    return json.dumps(shape, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(errors="replace")


def _data(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind.value,
        "owner": event.owner,
        "task_id": event.task_id,
        "run_id": event.run_id,
        "detail": event.detail,
    }


def _smaller(more: Mapping[str, Any]) -> dict[str, Any]:
    """Without the largest of it, which whoever needs it can ask for by id."""
    largest = max(more, key=lambda name: len(encoded({name: more[name]})))
    left = {name: value for name, value in more.items() if name != largest}
    return {**left, "left_out": sorted({*more.get("left_out", ()), largest})} if largest != "left_out" else {}
