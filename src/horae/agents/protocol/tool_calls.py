"""Tool calls of an agent, for its log: one line of stderr for each. The agent writes them, so they prove nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_PREFIX: Final = "[tool call] "
_MAX_CHARACTERS: Final = 1_000


def write_tool_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the line, without its end."""
    text = json.dumps(arguments, default=str)
    shown = text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "…"
    return f"{_PREFIX}{' '.join(name.split())} {shown}"


def read_tool_call(line: str) -> str | None:
    """Return the name and the arguments in a line of stderr; None for any other line."""
    return line.removeprefix(_PREFIX)[: _MAX_CHARACTERS * 2].strip() if line.startswith(_PREFIX) else None
