"""Carries one run to its endpoint and back."""

from __future__ import annotations

from typing import Final

from ...errors import Refusal
from ...model.outcome import Failed, Outcome
from ...model.reason import Reason
from ...outgoing.client import Client, check_library
from ...ports.target import Invocation, Tools
from ..secret_references import SecretMissing
from .body_text import stored
from .request import compose
from .response_outcome import Terms, outcome_of
from .settings import read_settings
from .spec import read_spec

_PRIVATE: Final = "address_not_public"


class HttpTarget:
    """`client` is made from the operator's settings, unless somebody brings another."""

    def __init__(self, tools: Tools, client: Client | None = None) -> None:
        self._clock = tools.clock
        self._secrets = tools.secrets
        self._settings = read_settings(tools.settings)
        self._client = client or Client(self._settings.allowed, self._settings.connect_within)

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            check_library()
        except Refusal as refusal:  # another node may have it
            return Failed(str(refusal), reason=Reason.TARGET_UNKNOWN)
        try:
            return await self._called(invocation)
        except SecretMissing as missing:
            return missing.outcome
        except Refusal as refusal:
            reason = Reason.TARGET_NOT_ALLOWED if refusal.code == _PRIVATE else Reason.NOT_CALLED
            return Failed(str(refusal), permanent=True, reason=reason)
        except RecursionError:  # what can just be read may be too deep to look for secrets in
            return Failed("the body is nested too deeply", permanent=True, reason=Reason.NOT_CALLED)

    async def aclose(self) -> None:
        await self._client.close()

    async def _called(self, invocation: Invocation) -> Outcome:
        task, settings = invocation.task, self._settings
        # What was allowed when the task was made may not be allowed any more.
        spec = read_spec(stored(task.target.spec, "target"), settings.allowed)
        request, hide = await compose(invocation, spec, settings, self._secrets, self._clock.now())
        reply = await self._client.send(request)
        terms = Terms(spec, hide, task.policies.timeout, takes_callbacks=settings.callback is not None)
        return outcome_of(reply, terms, self._clock.now())
