"""Forwarded client addresses: believed only where the connection comes from a proxy or router that an operator trusts."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..outgoing.addresses import Networks, read_networks
from ..wire.accounts import DEPLOYMENT_HEADER

FORWARDED_FOR: Final = b"x-forwarded-for"
FORWARDED_PROTO: Final = b"x-forwarded-proto"
_UNIX: Final = "unix"
_FROM_PROXY: Final = "from_trusted_proxy"
_SECURE_SCHEMES: Final = {"http": "https", "ws": "wss"}


class TrustedProxies(NamedTuple):
    """Networks of trusted proxies; `trusts_unix`: those that connect to the unix socket, which only this user can."""

    networks: Networks = ()
    trusts_unix: bool = False

    def __bool__(self) -> bool:
        return bool(self.networks) or self.trusts_unix

    def trusts(self, peer: str | None) -> bool:
        """Whether a connection of this address may say whom it speaks for; None: it came to the unix socket."""
        if peer is None:
            return self.trusts_unix
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return any((mapped or address) in network for network in self.networks)


NO_PROXIES: Final = TrustedProxies()


def read_trusted_proxies(texts: Iterable[object]) -> TrustedProxies:
    """Parse the setting `trusted_proxies`; raises a refusal for an invalid network."""
    given = tuple(texts)
    return TrustedProxies(read_networks(each for each in given if each != _UNIX), _UNIX in given)


class TrustedProxyMiddleware:
    """Outermost ASGI middleware: takes the client's address and scheme from the headers of a trusted proxy."""

    def __init__(self, app: ASGIApp, trusted: TrustedProxies) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            client = scope.get("client")
            if self._trusted.trusts(None if client is None else client[0]):
                scope = _as_forwarded(scope)
        await self._app(scope, receive, send)


def is_from_trusted_proxy(request: Request) -> bool:
    return request.scope.get("state", {}).get(_FROM_PROXY) is True


def routed_deployment(request: Request) -> str:
    """Return the name that the router in front has for this deployment; empty without a trusted router."""
    return request.headers.get(DEPLOYMENT_HEADER, "") if is_from_trusted_proxy(request) else ""


def _as_forwarded(scope: Scope) -> Scope:
    """Return the scope with the last forwarded address, which the trusted proxy itself has added."""
    state = {**scope.get("state", {}), _FROM_PROXY: True}
    changed = {**scope, "state": state}
    address = _last_value(scope, FORWARDED_FOR)
    if address:
        changed["client"] = (address, 0)
    if _last_value(scope, FORWARDED_PROTO) == "https":
        changed["scheme"] = _SECURE_SCHEMES.get(scope["scheme"], scope["scheme"])
    return changed


def _last_value(scope: Scope, name: bytes) -> str:
    values = [value for key, value in scope["headers"] if key == name]
    return values[-1].rpartition(b",")[2].strip().decode("latin-1") if values else ""
