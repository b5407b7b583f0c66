"""The event itself: one JSON object that says which task is due, what it is about, and how to tell it from others."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ...model.events.trigger_fields import triggered_json
from ...ports.target import Invocation


def event_body(invocation: Invocation, spec: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Every attempt at an occurrence has the same `eventId`: who has seen it may let the second one pass."""
    return triggered_json(invocation.task, invocation.run, spec, now, invocation.trace)
