"""Shared expectations of the text parser tests: canonical JSON of schedules read in one zone at one instant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import horae
from horae.schedule import to_json

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)  # a Wednesday, 20:00 in Shanghai
ZONE = "Asia/Shanghai"


def understood(text: str) -> dict[str, Any]:
    shown = to_json(horae.parse(text, zone=ZONE, now=NOW))
    assert shown.pop("zone") == ZONE
    return shown


def once(at: str) -> dict[str, Any]:
    return {"kind": "once", "at": at}


def every(interval: str, since: str = "grid", **rest: Any) -> dict[str, Any]:
    return {"kind": "every", "interval": interval, "from": since, **rest}


def calendar(unit: str, number: int = 1, **rest: Any) -> dict[str, Any]:
    return {"kind": "calendar", "unit": unit, "every": number, **rest}


WORKING = ["MON", "TUE", "WED", "THU", "FRI"]
