"""aiohttp session with guarded addresses and bounded decompression; aiohttp is imported at first use."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ..errors import Refusal
from .addresses import Networks, is_reachable, network_of, read_address
from .exchange import FailureKind, Request, Response, Unreachable
from .refusals import refuse_address, refused_networks

ENCODINGS: Final = "gzip, deflate"
_GZIP: Final = zlib.MAX_WBITS | 16
_SLACK: Final = 64 * 1024
"""How much longer than the limit a compressed body may be: more would be endless padding."""


class MalformedResponseError(Exception):
    """The body is not in the encoding that its header names."""


class Decompressor:
    """Streaming decompression with a size limit, which bounds the cost of a decompression bomb.

    Call `feed` with each chunk until it returns False or the body ends, then `finish`.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self._body = bytearray()
        self._limit = limit
        self._received = 0
        self._encoding = encoding.strip().lower()
        self._decompressor: zlib._Decompress | None = None
        if self._encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise MalformedResponseError(f"the answer is encoded as {self._encoding[:40]!r}")

    @property
    def body(self) -> bytes:
        return bytes(self._body[: self._limit])

    @property
    def truncated(self) -> bool:
        return len(self._body) > self._limit or self._received > self._limit + _SLACK

    def feed(self, data: bytes) -> bool:
        """Decompress a chunk; return False when the limit is reached and no more is needed."""
        self._received += len(data)
        if self._encoding in {"", "identity"}:
            self._body += data[: self._bytes_left]
        else:
            self._decompress(data)
        return not self.truncated

    def finish(self) -> None:
        """Raise `MalformedResponseError` if the compressed stream is incomplete."""
        if self._decompressor is not None and not self._decompressor.eof:
            raise MalformedResponseError("the compressed answer ends in the middle")

    @property
    def _bytes_left(self) -> int:
        """Bytes left up to the limit, plus one to detect truncation."""
        return self._limit + 1 - len(self._body)

    def _decompress(self, data: bytes) -> None:
        try:
            while data and self._bytes_left > 0:
                if self._decompressor is None or self._decompressor.eof:
                    self._decompressor = self._make_decompressor(data)
                self._body += self._decompressor.decompress(data, self._bytes_left)
                data = self._decompressor.unused_data or self._decompressor.unconsumed_tail
        except zlib.error:
            raise MalformedResponseError("the compressed answer cannot be read") from None

    def _make_decompressor(self, data: bytes) -> zlib._Decompress:
        if self._encoding != "deflate":
            return zlib.decompressobj(_GZIP)
        # Many servers send raw deflate without the zlib header, whose first byte is always 0x?8.
        return zlib.decompressobj(zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS)


Lookup: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Resolves a name to its addresses, as text."""

_MAX_LINE_BYTES: Final = 8_190
_READ_BUFFER_BYTES: Final = 64 * 1024


async def system_lookup(host: str) -> Sequence[str]:
    infos = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in infos))


class _GuardedResolver(AbstractResolver):
    """Resolves a name once per connection, and refuses it if any of its addresses is not allowed."""

    def __init__(self, lookup: Lookup, allowed: Networks) -> None:
        self._lookup = lookup
        self._allowed = allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = [read_address(text) for text in await self._lookup(host)]
        if not addresses:
            raise OSError(socket.EAI_NONAME, "it has no address")
        forbidden = [each for each in addresses if each is None or not is_reachable(each, self._allowed)]
        if forbidden:
            raise refuse_address(host, [network_of(each) for each in forbidden if each is not None])
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=_family(address.version),
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
            if address is not None and family in {socket.AF_UNSPEC, _family(address.version)}
        ]

    async def close(self) -> None: ...


def _family(version: int) -> socket.AddressFamily:
    return socket.AF_INET if version == 4 else socket.AF_INET6


class _ForbiddenAddressError(OSError):
    """A socket was requested for a forbidden address that the resolver should have refused."""


def _socket_for(allowed: Networks, info: Any) -> socket.socket:
    """Create a socket, or raise for a forbidden address: the last check, which every connection passes."""
    family, kind, protocol, _, target = info
    address = read_address(str(target[0]))
    if address is None or not is_reachable(address, allowed):
        raise _ForbiddenAddressError(str(target[0]) if address is None else network_of(address))
    return socket.socket(family=family, type=kind, proto=protocol)


def open_session(allowed: Networks, lookup: Lookup, connect_timeout: float) -> aiohttp.ClientSession:
    """Open a session without cookies, proxies, credentials from the environment, and connection reuse.

    A kept connection could break under the next request, which aiohttp would then resend by itself, although only the
    task's guarantee decides what may be sent twice. Its address check would also be out of date.
    """
    connector = aiohttp.TCPConnector(
        resolver=_GuardedResolver(lookup, allowed),
        use_dns_cache=False,
        force_close=True,
        limit=0,
        socket_factory=partial(_socket_for, allowed),
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_timeout, sock_connect=connect_timeout),
        auto_decompress=False,
        trust_env=False,
        max_line_size=_MAX_LINE_BYTES,
        max_field_size=_MAX_LINE_BYTES,
        read_bufsize=_READ_BUFFER_BYTES,
        skip_auto_headers=("User-Agent", "Content-Type"),
    )


async def send_request(session: aiohttp.ClientSession, request: Request) -> Response | Unreachable:
    """Send one request on a new connection; redirects are returned, not followed."""
    try:
        return await _exchange(session, request)
    except TimeoutError as error:
        if not isinstance(error, aiohttp.ServerTimeoutError):
            raise
        return Unreachable(FailureKind.CONNECTION, f"{request.url.host_and_port} could not be connected to in time")
    except (aiohttp.ClientError, MalformedResponseError, Refusal, OSError, ValueError) as error:
        return to_unreachable(error, request.url.host_and_port)


async def _exchange(session: aiohttp.ClientSession, request: Request) -> Response:
    response = await session.request(
        request.method,
        URL(request.url.text, encoded=True),
        headers=[*request.headers, ("Accept-Encoding", ENCODINGS), ("Connection", "close")],
        data=request.body,
        allow_redirects=False,
    )
    try:
        request.on_response()
        # The first of repeated headers counts.
        headers = {name.lower(): response.headers[name] for name in response.headers}
        decompressor = Decompressor(headers.get("content-encoding", ""), request.max_body_bytes)
        await _read(response, decompressor)
        return Response(response.status, headers, decompressor.body, decompressor.truncated, request.url)
    finally:
        response.close()


async def _read(response: aiohttp.ClientResponse, decompressor: Decompressor) -> None:
    async for data in response.content.iter_any():
        if not decompressor.feed(data):
            return
    decompressor.finish()


def to_unreachable(error: Exception, place: str) -> Unreachable:
    """Describe the error in Horae's own words: aiohttp's text may quote the request."""
    match error:
        case Refusal():
            return Unreachable(FailureKind.FORBIDDEN, str(error), refused_networks(error))
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(FailureKind.DNS, f"the name {place} could not be looked up")
        case aiohttp.ClientConnectorError(os_error=_ForbiddenAddressError() as forbidden):
            refusal = refuse_address(place, forbidden.args)
            return Unreachable(FailureKind.FORBIDDEN, str(refusal), refused_networks(refusal))
        case aiohttp.ClientSSLError():
            return Unreachable(FailureKind.TLS, f"no secure connection to {place}: {_tls_error(error)}")
        case aiohttp.ClientConnectorError(os_error=reason):
            return Unreachable(
                FailureKind.CONNECTION, f"{place} could not be connected to: {reason.strerror or 'no reason'}"
            )
        case MalformedResponseError():
            return Unreachable(FailureKind.MALFORMED, f"{place}: {error}")
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            return Unreachable(FailureKind.BROKEN, f"{place} ended the connection before its answer was complete")
        case _:
            return Unreachable(FailureKind.MALFORMED, f"{place} sent a response that is not HTTP, or too long")


def _tls_error(error: Exception) -> str:
    certificate = getattr(error, "certificate_error", None)
    return str(getattr(certificate, "verify_message", "")) or "it could not be agreed on"
