"""JSON calls to the HTTP interface of a chat service, through the guarded client; no error shows a path, header or body."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from ...errors import Refusal
from ...outgoing.addresses import Networks
from ...outgoing.client import Client
from ...outgoing.exchange import FailureKind, Request, Response
from ...outgoing.guard import check_url
from ...ports.channel import DeliveryDelayed, DeliveryRefused
from ...version import __version__
from .reconnect import SessionEnded
from .refusals import refuse

CALL_TIMEOUT: Final = 20.0
LOOKUP_TIMEOUT: Final = 2.0
"""Of the name of a sender: the service repeats an event that is not confirmed within three seconds."""
RETRY_AFTER: Final = timedelta(seconds=5)
"""Delay after a failure for which the service names none."""
MAX_RETRY_AFTER: Final = timedelta(days=1)
_MAX_BYTES: Final = 8 * 1024 * 1024
_NOT_SENT: Final = frozenset({FailureKind.CONNECTION, FailureKind.DNS, FailureKind.TLS})
_SERVER_ERROR: Final = 500


class ServiceUnreachable(Exception):  # noqa: N818 - a condition of the network, not a defect
    """No answer. `refusal`: the call is not allowed, now and later; `was_sent`: the service may have acted on it."""

    def __init__(self, problem: str, *, refusal: Refusal | None = None, was_sent: bool = False) -> None:
        self.problem = problem
        self.refusal = refusal
        self.was_sent = was_sent
        super().__init__(problem)

    def for_delivery(self, *, drops_repetitions: bool = False) -> DeliveryRefused | DeliveryDelayed:
        if self.refusal is not None:
            return DeliveryRefused(self.refusal)
        return DeliveryDelayed(self.problem, RETRY_AFTER, is_uncertain=self.was_sent and not drops_repetitions)

    def for_session(self) -> Refusal | SessionEnded:
        return self.refusal if self.refusal is not None else SessionEnded(self.problem)


class ApiReply(NamedTuple):
    """An answer. `document` is empty when the body is no JSON object, as of a proxy in between."""

    status: int
    headers: Mapping[str, str]
    document: dict[str, Any]

    @property
    def is_server_error(self) -> bool:
        return self.status >= _SERVER_ERROR

    def retry_after(self, default: timedelta = RETRY_AFTER) -> timedelta:
        return read_delay(self.headers.get("retry-after"), default)


class ApiCalls:
    """`base_url` is the operator's; it is checked when the channel is opened, and again at each call."""

    def __init__(self, service: str, base_url: str, networks: Networks) -> None:
        self.service = service
        self.base_url = base_url.rstrip("/")
        self._networks = networks
        self._client = Client(networks)
        check_url(self.base_url, networks)

    async def get(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = CALL_TIMEOUT,  # noqa: ASYNC109 - see below
    ) -> ApiReply:
        return await self._call("GET", path, headers or {}, None, timeout)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = CALL_TIMEOUT,  # noqa: ASYNC109 - the client ends the exchange, and names the cause
    ) -> ApiReply:
        return await self._call("POST", path, headers or {}, body, timeout)

    async def close(self) -> None:
        await self._client.close()

    async def _call(
        self, method: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None, seconds: float
    ) -> ApiReply:
        own = {"Accept": "application/json", "User-Agent": f"horae/{__version__}", **headers}
        data = None
        if body is not None:
            own["Content-Type"] = "application/json; charset=utf-8"
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            url = check_url(self.base_url + path, self._networks)
        except Refusal as refusal:
            raise self._not_allowed(refusal.message) from None
        reply = await self._client.send(
            Request(method, url, tuple(own.items()), data, seconds, max_body_bytes=_MAX_BYTES)
        )
        if isinstance(reply, Response):
            return ApiReply(reply.status, reply.headers, _read_object(reply))
        if reply.is_permanent:
            raise self._not_allowed(reply.message)
        raise ServiceUnreachable(reply.message, was_sent=reply.kind not in _NOT_SENT)

    def _not_allowed(self, problem: str) -> ServiceUnreachable:
        return ServiceUnreachable(problem, refusal=refuse("channel_unreachable", service=self.service, problem=problem))


def _read_object(response: Response) -> dict[str, Any]:
    if response.truncated:
        return {}
    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def read_delay(value: object, default: timedelta = RETRY_AFTER) -> timedelta:
    """Return the delay in seconds that a response requests, as number or text; the default for anything else."""
    try:
        seconds = float(value) if isinstance(value, str | int | float) else -1.0
    except ValueError:
        seconds = -1.0
    return min(timedelta(seconds=seconds), MAX_RETRY_AFTER) if 0 <= seconds < 1e9 else default
