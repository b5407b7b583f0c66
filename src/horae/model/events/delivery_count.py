"""What the result of an event says of its listeners."""

from __future__ import annotations

import json


def reached_no_listener(kind: str, result: str | None) -> bool:
    """Whether the run of a task of this kind told of something that no listener received."""
    if kind != "event" or not result:
        return False
    try:
        said = json.loads(result)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("delivered") == 0 and said["delivered"] is not False
