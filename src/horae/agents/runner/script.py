"""Script of a scheduled task: runs before the call of the mind, and decides whether the mind is called."""

from __future__ import annotations

import json
from typing import Any, Final

from .child import ChildFailed, run_child

SCRIPT_SECONDS: Final = 30.0
_MAX_OUTPUT_BYTES: Final = 1024 * 1024


async def run_script(script: str, seconds: float = SCRIPT_SECONDS) -> tuple[bool, Any]:
    """Return whether the script wakes the agent, and its data.

    The last line that it prints is a JSON object with the boolean `wakeAgent`, and `data` if it has some. After an error,
    a timeout or any other output the agent is not woken.
    """
    try:
        ended = await run_child(["bash", "-c", script], b"", _MAX_OUTPUT_BYTES, seconds)
    except ChildFailed:
        return False, None
    lines = [line for line in ended.stdout.decode(errors="replace").splitlines() if line.strip()]
    if ended.code != 0 or not lines:
        return False, None
    try:
        value = json.loads(lines[-1])
    except (ValueError, RecursionError):
        return False, None
    if not isinstance(value, dict) or value.get("wakeAgent") is not True:
        return False, None
    return True, value.get("data")


def prompt_with_data(prompt: str, data: Any) -> str:
    shown = json.dumps(data, indent=2, ensure_ascii=False)
    return f"[SCHEDULED TASK]\n\nScript output:\n{shown}\n\nInstructions:\n{prompt}"
