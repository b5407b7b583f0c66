"""Number of listeners that an event target reached, read from the result of its run."""

from __future__ import annotations

import json


def reached_no_listener(kind: str, result: str | None) -> bool:
    """Return whether a run of an event target published an event that no listener received."""
    if kind != "event" or not result:
        return False
    try:
        body = json.loads(result)
    except ValueError:
        return False
    return isinstance(body, dict) and body.get("delivered") == 0 and body["delivered"] is not False
