"""HTTP client for webhook deliveries: signed, guarded against internal addresses, and bounded in time and size."""

from __future__ import annotations

from typing import Final

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.principal import Principal
from ...model.events.webhook import NO_KEY, Attempt, Delivery, Webhook
from ...model.limits import shorten
from ...outgoing.addresses import Networks, is_reachable, read_networks
from ...outgoing.client import Client
from ...outgoing.exchange import Request, Unreachable
from ...outgoing.guard import CheckedUrl, check_url
from ...outgoing.headers import Headers
from ...outgoing.refusals import refused_networks
from ...outgoing.signatures import sign_message
from ...version import __version__
from ..accounts.secrets import SecretVault

TIMEOUT_SECONDS: Final = 15.0
"""Timeout in seconds for a whole attempt."""
MAX_ANSWER_BYTES: Final = 2_048
MAX_ANSWER_CHARACTERS: Final = 300
CONTENT_TYPE: Final = "application/cloudevents+json"
KEY_REFUSALS: Final = frozenset(
    {
        "key_file_exposed",
        "key_file_missing",
        "key_file_not_named",
        "key_file_unusable",
        "key_length",
        "secret_sealed_otherwise",
    }
)
SIGNING_OWNER_PREFIX: Final = "horae:webhook:"


class WebhookClient:
    """Use it on one event loop. `allowed` are the networks besides the public ones that an operator allows."""

    def __init__(self, secrets: SecretVault, clock: Clock, allowed: Networks = ()) -> None:
        self._secrets = secrets
        self._clock = clock
        self._allowed = allowed
        self._client = Client(allowed)

    def check_url(self, url: object) -> CheckedUrl:
        """Check a URL; refuses addresses that may never be called."""
        return check_url(url, self._allowed)

    async def deliver(self, webhook: Webhook, delivery: Delivery) -> Attempt:
        """Send one delivery once and return what happened; never raises for a failed delivery."""
        now = self._clock.now()
        try:
            body = delivery.body.encode()
            headers = await self._headers(webhook, delivery, body)
            request = Request(
                "POST", self.check_url(webhook.url), headers, body, TIMEOUT_SECONDS, max_body_bytes=MAX_ANSWER_BYTES
            )
        except Refusal as refusal:
            blocked = (NO_KEY,) if refusal.code in KEY_REFUSALS else refused_networks(refusal)
            return Attempt(now, None, _to_one_line(str(refusal)), blocked)
        reply = await self._client.send(request)
        if isinstance(reply, Unreachable):
            return Attempt(now, None, _to_one_line(reply.message), reply.networks)
        return Attempt(now, reply.status, _shorten_answer(reply.body.decode(errors="replace")))

    def allows(self, url: str, networks: tuple[str, ...]) -> bool:
        """Whether this process may call `url`, which an earlier attempt could not because of these networks."""
        if networks == (NO_KEY,):
            return True  # the key is read anew for each delivery
        try:
            self.check_url(url)
            blocked = read_networks(networks)
        except Refusal:
            return False
        return any(is_reachable(network.network_address, self._allowed) for network in blocked)

    @property
    def can_sign(self) -> bool:
        return self._secrets.has_key

    async def close(self) -> None:
        await self._client.close()

    async def _headers(self, webhook: Webhook, delivery: Delivery, body: bytes) -> Headers:
        secrets = [await self.read_secret(webhook.id, number) for number in webhook.secrets_at(self._clock.now())]
        signatures = sign_message(
            [each for each in secrets if each is not None], delivery.message, self._clock.now(), body
        )
        return ("Content-Type", CONTENT_TYPE), ("User-Agent", f"Horae/{__version__}"), *signatures

    # --- signing secrets: sealed like any other, under a reserved owner name ------------------------------------------

    async def store_secret(self, webhook: str, number: int, secret: str) -> None:
        await self._secrets.set(_secret_principal(webhook), _secret_name(number), secret)

    async def read_secret(self, webhook: str, number: int) -> str | None:
        return await self._secrets.reveal(SIGNING_OWNER_PREFIX + webhook, _secret_name(number))

    async def remove_secrets(self, webhook: str, *numbers: int) -> None:
        for number in numbers:
            try:
                await self._secrets.remove(_secret_principal(webhook), _secret_name(number))
            except Refusal:
                continue  # it was removed before


def _secret_principal(webhook: str) -> Principal:
    return Principal(SIGNING_OWNER_PREFIX + webhook)


def _secret_name(number: int) -> str:
    return f"signing.{number}"


def _shorten_answer(text: str) -> str:
    """One printable line, shortened for storage and display."""
    return shorten(_to_one_line(text), MAX_ANSWER_CHARACTERS)


def _to_one_line(text: str) -> str:
    """One printable line; messages of Horae itself are kept whole, because their end says what to set."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
