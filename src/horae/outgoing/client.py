"""HTTP client with SSRF protection: checks every URL, address and redirect, and returns every failure as a value."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from ..errors import Refusal
from .addresses import Networks
from .exchange import FailureKind, Reply, Request, Response, Unreachable
from .guard import MAX_URL_LENGTH, CheckedUrl, check_url
from .refusals import refuse, refused_networks

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from .session import Lookup


_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CROSS_ORIGIN_HEADERS: Final = frozenset(
    {"accept", "accept-language", "content-type", "idempotency-key", "traceparent", "user-agent"}
)
"""The only headers sent to another origin: no credentials, no signature, no token, no custom headers."""


def is_redirect(answer: Response) -> bool:
    return answer.status in _REDIRECTS and "location" in answer.headers


def next_hop(request: Request, answer: Response, allowed: Networks) -> Request | Unreachable:
    """Return the request that follows a redirect, with one redirect less to go, or why it is not followed.

    The new URL is checked like any other; to another origin most headers are dropped and no body is sent.
    """
    place = request.url.host_and_port
    if request.redirects < 1:
        return Unreachable(FailureKind.REDIRECTED, f"{place} redirects too often")
    url = _destination(request.url, answer.headers["location"], allowed)
    if isinstance(url, Unreachable):
        return url
    redirected = _change_method(request, answer.status)._replace(url=url, redirects=request.redirects - 1)
    if url.origin == request.url.origin:
        return redirected
    if redirected.body is not None:
        return Unreachable(
            FailureKind.REDIRECTED, f"{place} redirects the body to {url.host_and_port}, which was not meant to see it"
        )
    headers = tuple(header for header in redirected.headers if header[0].lower() in _CROSS_ORIGIN_HEADERS)
    return redirected._replace(headers=headers)


def _destination(origin: CheckedUrl, location: str, allowed: Networks) -> CheckedUrl | Unreachable:
    try:
        url = check_url(urljoin(origin.text, location) if len(location) <= MAX_URL_LENGTH else location, allowed)
    except Refusal as refusal:
        return Unreachable(
            FailureKind.REDIRECTED, f"{origin.host_and_port} redirects to a forbidden address: {refusal.message}"
        )
    except ValueError:
        return Unreachable(FailureKind.REDIRECTED, f"{origin.host_and_port} redirects to an invalid URL")
    if origin.scheme == "https" and url.scheme == "http":
        return Unreachable(FailureKind.REDIRECTED, f"{origin.host_and_port} redirects from https to http")
    return url


def _change_method(request: Request, status: int) -> Request:
    """Turn into GET without body where the status demands it: the request was processed, the result is elsewhere."""
    if (status == 303 and request.method != "HEAD") or (status in {301, 302} and request.method == "POST"):
        headers = tuple(header for header in request.headers if header[0].lower() != "content-type")
        return request._replace(method="GET", body=None, headers=headers)
    return request


CONNECT_TIMEOUT: Final = 10.0


def check_library() -> None:
    """Raise a refusal if aiohttp is not installed, without importing it."""
    if not _is_installed():
        raise refuse("http_library_missing")


@cache
def _is_installed() -> bool:
    """Cached: a search of all module folders takes half a millisecond, and every new task asks."""
    return find_spec("aiohttp") is not None


class Client:
    """Client for one event loop. `lookup` replaces the system's resolver."""

    def __init__(
        self, allowed: Networks = (), connect_timeout: float = CONNECT_TIMEOUT, lookup: Lookup | None = None
    ) -> None:
        self._allowed = allowed
        self._connect_within = connect_timeout
        self._lookup = lookup
        self._session: ClientSession | None = None

    async def send(self, request: Request) -> Reply:
        """Send a request and follow its redirects; cancellation closes the connection."""
        try:
            async with asyncio.timeout(request.timeout):
                return await self._follow(request)
        except TimeoutError:
            return Unreachable(
                FailureKind.TIMEOUT, f"{request.url.host_and_port} had not answered after {request.timeout:g} s"
            )
        except Refusal as refusal:
            return Unreachable(FailureKind.FORBIDDEN, str(refusal), refused_networks(refusal))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow(self, request: Request) -> Reply:
        check_library()
        from .session import send_request  # noqa: PLC0415 - an optional library, loaded when something is sent

        follows = request.redirects > 0
        while True:
            # Checked again: the request may have been built long ago, under other rules.
            check_url(request.url.text, self._allowed)
            reply = await send_request(self._open_session(), request)
            if not follows or not isinstance(reply, Response) or not is_redirect(reply):
                return reply
            following = next_hop(request, reply, self._allowed)
            if isinstance(following, Unreachable):
                return following
            request = following

    def _open_session(self) -> ClientSession:
        if self._session is None:
            from .session import open_session, system_lookup  # noqa: PLC0415

            self._session = open_session(self._allowed, self._lookup or system_lookup, self._connect_within)
        return self._session
