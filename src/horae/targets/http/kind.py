"""Registers the target kind `http`: checks specs and opens the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...model.limits import PAYLOAD_BYTES
from ...model.refusals import refuse as refuse_task
from ...outgoing.client import check_library
from ...ports.target import TargetKind, Tools
from . import orchestrator
from .body_text import dump_json
from .settings import HttpSettings, read_settings
from .spec import ORCHESTRATOR, read_spec
from .target import HttpTarget


class HttpKind:
    kind: Final = "http"

    def __init__(self) -> None:
        self._cached: tuple[Mapping[str, Any], HttpSettings] | None = None

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        check_library()
        parsed = read_spec(spec, self._parse_settings(settings).allowed_networks)
        if parsed.preset == ORCHESTRATOR:
            orchestrator.check_payload(payload)
        canonical = parsed.to_json()
        try:
            size = len(dump_json(canonical).encode())
        except (ValueError, TypeError, RecursionError) as error:
            raise refuse_task("bad_payload", value=type(error).__name__) from None
        if size > PAYLOAD_BYTES:
            raise refuse_task("payload_too_large", size=size, most=PAYLOAD_BYTES)
        return canonical

    def _parse_settings(self, settings: Mapping[str, Any]) -> HttpSettings:
        """Parse the settings, cached: they are the same for every task of a deployment."""
        if self._cached is None or self._cached[0] != settings:
            self._cached = dict(settings), read_settings(settings)
        return self._cached[1]

    def open(self, tools: Tools) -> HttpTarget:
        return HttpTarget(tools)


HTTP: Final[TargetKind] = HttpKind()
