"""The kind `http`, as a deployment knows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...model.limits import PAYLOAD_BYTES
from ...model.refusals import refuse as refuse_task
from ...outgoing.client import check_library
from ...ports.target import TargetKind, Tools
from . import orchestrator
from .settings import read_settings
from .spec import ORCHESTRATOR, read_spec
from .target import HttpTarget
from .texts import dumped


class HttpKind:
    kind: Final = "http"

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        check_library()
        read = read_spec(spec, read_settings(settings).allowed)
        if read.preset == ORCHESTRATOR:
            orchestrator.check_payload(payload)
        canonical = read.to_json()
        try:
            size = len(dumped(canonical).encode())
        except (ValueError, TypeError, RecursionError) as error:
            raise refuse_task("bad_payload", value=type(error).__name__) from None
        if size > PAYLOAD_BYTES:
            raise refuse_task("payload_too_large", size=size, most=PAYLOAD_BYTES)
        return canonical

    def open(self, tools: Tools) -> HttpTarget:
        return HttpTarget(tools)


HTTP: Final[TargetKind] = HttpKind()
