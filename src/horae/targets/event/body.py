"""Builds the JSON body of a triggered event: task, topic, text, payload and a unique `eventId`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ...model.events.trigger_fields import triggered_json
from ...ports.target import Invocation


def event_body(invocation: Invocation, spec: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the event. Every attempt at an occurrence has the same `eventId`, so that receivers can deduplicate."""
    return triggered_json(invocation.task, invocation.run, spec, now, invocation.trace)
