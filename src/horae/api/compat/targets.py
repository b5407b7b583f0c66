"""HTTP target of `/scheduled-tasks`: the orchestrator that the operator configured."""

from __future__ import annotations

import json
from typing import Final

from ...model.task import Target
from .refusals import refuse

_PRESET: Final = "orchestrator"
_DISPATCH: Final = "/dispatch/execute"


def orchestrator_target(url: str | None) -> Target:
    if not url:
        raise refuse("compat_no_orchestrator")
    return Target("http", json.dumps({"preset": _PRESET, "url": url.rstrip("/") + _DISPATCH}))


def is_orchestrator(target: Target) -> bool:
    if target.kind != "http":
        return False
    spec = json.loads(target.spec)
    return isinstance(spec, dict) and spec.get("preset") == _PRESET
