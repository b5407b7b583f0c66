"""Target of a plan: the one place that decides what the task of a plan calls."""

from __future__ import annotations

import json
from base64 import b64encode

from ..task import Target
from .codes import FrameType
from .plan import STATION_TARGET, Plan


def plan_target(plan: Plan) -> Target:
    """Return a call of the station: its command, and the other frames as they were published."""
    command = next(text for kind, text in plan.frames if kind in (chr(FrameType.COMMAND), chr(FrameType.PUB_TITLE)))
    frames = [
        [
            FrameType(ord(kind)).name,
            text if ord(kind) == FrameType.CONTENT_BINARY else b64encode(text.encode()).decode(),
        ]
        for kind, text in plan.frames
        if ord(kind) != FrameType.COMMAND
    ]
    spec = {
        "station": plan.station,
        "command": command,
        "title": plan.title[:100],
        "plan": plan.hex_id,
        "frames": frames,
    }
    return Target(STATION_TARGET, json.dumps(spec, ensure_ascii=False))
