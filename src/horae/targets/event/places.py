"""External channels of an event: a Redis channel and a signed webhook; a failed delivery is returned as `Failed`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from ...clock import Clock
from ...model.limits import ERROR_CHARACTERS, shorten
from ...model.outcome import Failed
from ...outgoing.client import Client
from ...outgoing.exchange import Request, Unreachable
from ...outgoing.signatures import sign_message
from ...ports.secret_masks import Masks
from .refusals import refuse
from .settings import RedisSettings, WebhookSettings

if TYPE_CHECKING:
    from redis.asyncio import Redis

_TIMEOUT_SECONDS: Final = 30.0
_MAX_RESPONSE_BYTES: Final = 4_096
_RETRYABLE: Final = frozenset({408, 425, 429})


class EventChannel(Protocol):
    @property
    def name(self) -> str: ...

    async def deliver(self, event_id: str, body: bytes) -> Failed | int:
        """Deliver the event; return how many receivers the channel reports, or the failure."""

    async def close(self) -> None: ...


class RedisChannel:
    """Publishes to one Redis channel: at most once, only to those subscribed at that moment."""

    name = "redis"

    def __init__(self, place: RedisSettings) -> None:
        if find_spec("redis") is None:
            raise refuse("event_redis_missing")
        self._place = place
        self._masks = Masks(filter(None, [urlsplit(place.url).password]))
        self._client: Redis | None = None

    async def deliver(self, event_id: str, body: bytes) -> Failed | int:  # noqa: ARG002 - the body names it
        from redis.exceptions import RedisError  # noqa: PLC0415 - an optional library, loaded when something is sent

        try:
            return int(await self._connect().publish(self._place.channel, body))
        except (RedisError, OSError, ValueError) as error:
            text = self._masks.mask(f"publishing to Redis failed: {error}")
            return Failed(shorten(text, ERROR_CHARACTERS))

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connect(self) -> Redis:
        if self._client is None:
            from redis.asyncio import Redis  # noqa: PLC0415

            # RESP2 works with every server, and publishing needs nothing newer.
            self._client = Redis.from_url(
                self._place.url, protocol=2, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS
            )
        return self._client


class WebhookChannel:
    """Posts JSON through the guarded client, signed where the operator has set a secret."""

    name = "webhook"

    def __init__(self, webhook: WebhookSettings, clock: Clock) -> None:
        self._webhook = webhook
        self._clock = clock
        self._client = Client(webhook.allowed)
        if webhook.secret is not None:  # an invalid secret is refused now, not when a task is due
            sign_message([webhook.secret], "", clock.now(), b"")

    async def deliver(self, event_id: str, body: bytes) -> Failed | int:
        secret, url = self._webhook.secret, self._webhook.url
        signatures = () if secret is None else sign_message([secret], event_id, self._clock.now(), body)
        headers = (("Content-Type", "application/json"), ("Idempotency-Key", event_id), *signatures)
        reply = await self._client.send(
            Request("POST", url, headers, body, _TIMEOUT_SECONDS, max_body_bytes=_MAX_RESPONSE_BYTES)
        )
        if isinstance(reply, Unreachable):
            return Failed(reply.message, permanent=reply.is_permanent)
        if 200 <= reply.status < 300:
            return 1
        is_permanent = 300 <= reply.status < 500 and reply.status not in _RETRYABLE
        return Failed(f"the webhook {url.host_and_port} answered {reply.status}", permanent=is_permanent)

    async def close(self) -> None:
        await self._client.close()
