"""Registers the target kind `event`: checks specs and opens the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...ports.target import TargetKind, Tools
from .spec import check_spec
from .target import EventTarget


class EventKind:
    kind: Final = "event"

    def check(
        self,
        spec: Mapping[str, Any],
        payload: Any,  # noqa: ARG002 - an event may have any payload
        settings: Mapping[str, Any],  # noqa: ARG002 - they choose the channels, not what a spec may hold
    ) -> Mapping[str, Any]:
        return check_spec(spec)

    def open(self, tools: Tools) -> EventTarget:
        return EventTarget(tools)


EVENT: Final[TargetKind] = EventKind()
