"""CloudEvents 1.0 encoding of an event: the body that event streams, event pages and webhooks share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any, Final
from urllib.parse import quote

from .event import Event, NumberedEvent

SPEC_VERSION: Final = "1.0"
_PREFIX: Final = "dev.horae."
_VERSION: Final = ".v1"
_SEQUENCE_DIGITS: Final = 19
"""Digits of the largest event number."""
MAX_BODY_BYTES: Final = 20 * 1024
"""Largest body in bytes, for the sake of webhook receivers."""


def cloud_event(numbered: NumberedEvent, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the CloudEvent with `more` data; the largest items of `more` are left out until the body fits a webhook."""
    number, event = numbered
    body = envelope(f"evt_{number}", event, {"number": number, **_data(event), **(more or {})})
    body["sequence"] = sequence_of(number)
    if more and len(encode_body(body)) > MAX_BODY_BYTES:
        return cloud_event(numbered, _drop_largest(more))
    return body


def sequence_of(number: int) -> str:
    """Return the `sequence` of an event, zero-padded so that text order is event order."""
    return f"{number:0{_SEQUENCE_DIGITS}d}"


def envelope(name: str, event: Event, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "specversion": SPEC_VERSION,
        "id": name,
        "source": f"/owners/{quote(event.owner, safe='')}",
        "type": type_of(event.kind),
        "subject": subject_of(event),
        "time": event.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": dict(data),
    }


def type_of(kind: str) -> str:
    """Return the CloudEvents type, such as `dev.horae.run.succeeded.v1`."""
    return f"{_PREFIX}{kind}{_VERSION}"


def subject_of(event: Event) -> str:
    return event.task_id if event.run_id is None else f"{event.task_id}/{event.run_id}"


def encode_body(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(errors="replace")


def _data(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind.value,
        "owner": event.owner,
        "task_id": event.task_id,
        "run_id": event.run_id,
        "detail": event.detail,
    }


def _drop_largest(more: Mapping[str, Any]) -> dict[str, Any]:
    """Return `more` without its largest item, which a receiver can fetch by id; `left_out` names it."""
    largest = max(more, key=lambda name: len(encode_body({name: more[name]})))
    remaining = {name: value for name, value in more.items() if name != largest}
    return {**remaining, "left_out": sorted({*more.get("left_out", ()), largest})} if largest != "left_out" else {}
