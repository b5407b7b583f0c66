"""The http target and its kind: checks specs, sends the request of a run with the guarded client, returns an outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...errors import Refusal
from ...model.limits import PAYLOAD_BYTES
from ...model.outcome import Failed, Outcome
from ...model.reason import Reason
from ...model.refusals import refuse as refuse_task
from ...outgoing.client import Client, check_library
from ...ports.target import Invocation, TargetKind, Tools
from ..secret_references import SecretMissing
from . import request
from .body_text import dump_json, parse_stored_json
from .request import build_request
from .response_outcome import ResponseContext, outcome_of
from .settings import HttpSettings, read_settings
from .spec import ORCHESTRATOR, read_spec

_NOT_PUBLIC: Final = "address_not_public"


class HttpTarget:
    """Kind `http`. `client` is created from the operator's settings unless given."""

    def __init__(self, tools: Tools, client: Client | None = None) -> None:
        self._clock = tools.clock
        self._secrets = tools.secrets
        self._settings = read_settings(tools.settings)
        self._client = client or Client(self._settings.allowed_networks, self._settings.connect_timeout)

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            check_library()
        except Refusal as refusal:  # another node may have the library
            return Failed(str(refusal), reason=Reason.TARGET_UNKNOWN)
        try:
            return await self._call(invocation)
        except SecretMissing as missing:
            return missing.outcome
        except Refusal as refusal:
            reason = Reason.TARGET_NOT_ALLOWED if refusal.code == _NOT_PUBLIC else Reason.NOT_CALLED
            return Failed(str(refusal), permanent=True, reason=reason)
        except RecursionError:  # JSON that parses may still be too deep for the search for secrets
            return Failed("the body is nested too deeply", permanent=True, reason=Reason.NOT_CALLED)

    async def aclose(self) -> None:
        await self._client.close()

    async def _call(self, invocation: Invocation) -> Outcome:
        task, settings = invocation.task, self._settings
        # Checked again: the allowed networks may have changed since the task was created.
        spec = read_spec(parse_stored_json(task.target.spec, "target"), settings.allowed_networks)
        request, hide = await build_request(invocation, spec, settings, self._secrets, self._clock.now())
        reply = await self._client.send(request)
        terms = ResponseContext(spec, hide, task.policies.timeout, takes_callbacks=settings.callback is not None)
        return outcome_of(reply, terms, self._clock.now())


class HttpKind:
    kind: Final = "http"

    def __init__(self) -> None:
        self._cached: tuple[Mapping[str, Any], HttpSettings] | None = None

    def check(self, spec: Mapping[str, Any], payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        check_library()
        parsed = read_spec(spec, self._parse_settings(settings).allowed_networks)
        if parsed.preset == ORCHESTRATOR:
            request.check_payload(payload)
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
