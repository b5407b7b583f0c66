"""Client for messages to people: opens the sealed URL, renders the text, sends it, and says what happened without secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.principal import Principal
from ...model.events.destination import Destination, Notice
from ...model.events.webhook import NO_KEY, Attempt
from ...ports.notifier import MessageService, Notifier, SendFailure, SendResult
from ..accounts.secrets import SecretVault
from .delivery import KEY_REFUSALS
from .notice_text import render_message

_OWNER_PREFIX: Final = "horae:destination:"
_URL: Final = "url"
_ANSWERS: Final = {
    SendFailure.FORBIDDEN: "The address is not public: an operator has to add it to outgoing_networks.",
    SendFailure.STATUS: "The service answered with an error.",
    SendFailure.UNREACHABLE: "The service cannot be reached.",
    SendFailure.TIMEOUT: "The service did not answer in time.",
    SendFailure.BAD_URL: "The URL is no longer accepted: add the destination again.",
    SendFailure.HOST_SCHEMA: "The service acts on the node's machine: an operator has to add it to notify_host_schemas.",
    SendFailure.LIBRARY: "A library is not installed on the node: pip install 'horae[notify]'",
    SendFailure.FAILED: "The service did not accept the message.",
}
SENT: Final = "sent"


class MessageClient:
    def __init__(self, secrets: SecretVault, notifier: Notifier, clock: Clock) -> None:
        self._secrets = secrets
        self._notifier = notifier
        self._clock = clock

    async def check(self, url: str) -> MessageService:
        return await self._notifier.check(url)

    async def deliver(self, destination: Destination, notices: Sequence[Notice]) -> Attempt:
        """Send notices as one message once, and return what happened; never raises for a failed delivery."""
        now = self._clock.now()
        try:
            url = await self._secrets.reveal(_OWNER_PREFIX + destination.id, _URL)
        except Refusal as refusal:
            return Attempt(now, None, refusal.message, (NO_KEY,) if refusal.code in KEY_REFUSALS else ())
        if url is None:
            return Attempt(now, None, _ANSWERS[SendFailure.BAD_URL])
        return _attempt_of(await self._notifier.send(url, render_message(destination, notices)), self._clock)

    async def store_url(self, destination_id: str, url: str) -> None:
        await self._secrets.set(Principal(_OWNER_PREFIX + destination_id), _URL, url)

    async def remove_url(self, destination_id: str) -> None:
        try:
            await self._secrets.remove(Principal(_OWNER_PREFIX + destination_id), _URL)
        except Refusal:
            return  # it was removed before


def _attempt_of(result: SendResult, clock: Clock) -> Attempt:
    answer = SENT if result.failure is None else _ANSWERS[result.failure]
    return Attempt(clock.now(), result.status, answer, result.networks, delivered=result.ok)
