"""The library that speaks HTTP, tamed. It is imported from here alone, and only when something is sent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ..errors import Refusal
from .addresses import Networks, is_reachable, network_of, read_address
from .decompression import ENCODINGS, NonsenseError, Unpacking
from .exchange import Answer, Request, Trouble, Unreachable
from .refusals import refuse_address, refused_networks

Lookup: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a name, as texts."""

_LONGEST_LINE: Final = 8_190
_CHUNK: Final = 64 * 1024


async def system_lookup(host: str) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(each[4][0]) for each in found))


class _Vetted(AbstractResolver):
    """Looks a name up once for each connection. One bad address spoils them all: the next answer might pick it."""

    def __init__(self, lookup: Lookup, allowed: Networks) -> None:
        self._lookup = lookup
        self._allowed = allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = [read_address(text) for text in await self._lookup(host)]
        if not addresses:
            raise OSError(socket.EAI_NONAME, "it has no address")
        private = [each for each in addresses if each is None or not is_reachable(each, self._allowed)]
        if private:
            raise refuse_address(host, [network_of(each) for each in private if each is not None])
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


class _VetoedError(OSError):
    """An address came as far as a socket that should have been stopped long before."""


def _socket_for(allowed: Networks, info: Any) -> socket.socket:
    """The last gate, which nothing goes around: no socket is made for an address that may not be called."""
    family, kind, protocol, _, target = info
    address = read_address(str(target[0]))
    if address is None or not is_reachable(address, allowed):
        raise _VetoedError(str(target[0]) if address is None else network_of(address))
    return socket.socket(family=family, type=kind, proto=protocol)


def open_session(allowed: Networks, lookup: Lookup, connect_within: float) -> aiohttp.ClientSession:
    """No cookies, no proxies, no credentials from the environment, and a connection of its own for each request.

    A connection that is kept could die under the next request, and the library would send that again by itself; whether
    something may be sent twice is for the task to say. It would also outlive what was known when its address was checked.
    """
    connector = aiohttp.TCPConnector(
        resolver=_Vetted(lookup, allowed),
        use_dns_cache=False,
        force_close=True,
        limit=0,
        socket_factory=partial(_socket_for, allowed),
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_within, sock_connect=connect_within),
        auto_decompress=False,
        trust_env=False,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_LINE,
        read_bufsize=_CHUNK,
        skip_auto_headers=("User-Agent", "Content-Type"),
    )


async def ask(session: aiohttp.ClientSession, request: Request) -> Answer | Unreachable:
    """One request on one connection; a redirect is an answer like any other."""
    try:
        return await _asked(session, request)
    except TimeoutError as error:
        if not isinstance(error, aiohttp.ServerTimeoutError):
            raise
        return Unreachable(Trouble.CONNECTION, f"{request.url.place} could not be connected to in time")
    except (aiohttp.ClientError, NonsenseError, Refusal, OSError, ValueError) as error:
        return _told(error, request.url.place)


async def _asked(session: aiohttp.ClientSession, request: Request) -> Answer:
    response = await session.request(
        request.method,
        URL(request.url.text, encoded=True),
        headers=[*request.headers, ("Accept-Encoding", ENCODINGS), ("Connection", "close")],
        data=request.body,
        allow_redirects=False,
    )
    try:
        request.on_answer()
        # Of a header that comes twice, the first counts.
        headers = {name.lower(): response.headers[name] for name in response.headers}
        unpacking = Unpacking(headers.get("content-encoding", ""), request.most)
        await _read(response, unpacking)
        return Answer(response.status, headers, unpacking.body, unpacking.truncated, request.url)
    finally:
        response.close()


async def _read(response: aiohttp.ClientResponse, unpacking: Unpacking) -> None:
    async for data in response.content.iter_any():
        if not unpacking.feed(data):
            return
    unpacking.finish()


def _told(error: Exception, place: str) -> Unreachable:
    """What went wrong, in our words: the library's own may quote what was sent."""
    match error:
        case Refusal():
            return Unreachable(Trouble.GUARDED, str(error), refused_networks(error))
        case aiohttp.ClientConnectorDNSError():
            return Unreachable(Trouble.NAME, f"the name {place} could not be looked up")
        case aiohttp.ClientConnectorError(os_error=_VetoedError() as veto):
            refusal = refuse_address(place, veto.args)
            return Unreachable(Trouble.GUARDED, str(refusal), refused_networks(refusal))
        case aiohttp.ClientSSLError():
            return Unreachable(Trouble.TLS, f"no secure connection to {place}: {_why_insecure(error)}")
        case aiohttp.ClientConnectorError(os_error=reason):
            return Unreachable(
                Trouble.CONNECTION, f"{place} could not be connected to: {reason.strerror or 'no reason'}"
            )
        case NonsenseError():
            return Unreachable(Trouble.NONSENSE, f"{place}: {error}")
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            return Unreachable(Trouble.BROKEN, f"{place} ended the connection before its answer was complete")
        case _:
            return Unreachable(Trouble.NONSENSE, f"{place} answered with what is not HTTP, or too long")


def _why_insecure(error: Exception) -> str:
    certificate = getattr(error, "certificate_error", None)
    return str(getattr(certificate, "verify_message", "")) or "it could not be agreed on"
