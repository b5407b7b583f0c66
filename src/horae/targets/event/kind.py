"""The kind `event`, as a deployment knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...ports.target import TargetKind, Tools
from .spec import checked_spec
from .target import EventTarget


class EventKind:
    kind: Final = "event"

    def check(
        self,
        spec: Mapping[str, Any],
        payload: Any,  # noqa: ARG002 - any payload can be told
        settings: Mapping[str, Any],  # noqa: ARG002 - they say where it goes, not what it may be
    ) -> Mapping[str, Any]:
        return checked_spec(spec)

    def open(self, tools: Tools) -> EventTarget:
        return EventTarget(tools)


EVENT: Final[TargetKind] = EventKind()
