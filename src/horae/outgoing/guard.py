"""URL guard against SSRF: parses URLs strictly and refuses those with non-public addresses; pure.

Applied when a task is created, and before each request and redirect; the session checks each connection's address again.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple
from urllib.parse import quote

from .addresses import Address, Networks, is_numeric, is_reachable, network_of, read_address, read_numeric
from .refusals import refuse, refuse_address

MAX_URL_LENGTH: Final = 2_048
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SHAPE: Final = re.compile(r"//(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?")
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_MAX_NAME_LENGTH: Final = 253
_PORT: Final = re.compile(r"[0-9]{1,5}")
_UNQUOTED: Final = "%/:@!$&'()*+,;=~?[]"
_LOOPBACKS: Final = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
_LOOPBACK_NETWORKS: Final = ("127.0.0.0/8", "::1/128")


class CheckedUrl(NamedTuple):
    """A parsed URL in canonical form; built from text by `check_url` and `parse_url` only."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def host_and_port(self) -> str:
        """Host and port for messages, which must not show paths and queries since they may hold secrets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.host_and_port}{self.target}"


def check_url(url: object, allowed: Networks = ()) -> CheckedUrl:
    """Parse a URL; raises a refusal for non-public addresses in any spelling. Names are resolved only at connection."""
    checked = parse_url(url)
    name = checked.host.removesuffix(".")
    if name == "localhost" or name.endswith(".localhost"):
        if not any(is_reachable(address, allowed) for address in _LOOPBACKS):
            raise refuse_address(name, _LOOPBACK_NETWORKS)
        return checked
    literal = read_address(checked.host)
    if literal is not None:
        check_address(literal, allowed, checked.host)
    return checked


def check_address(address: Address, allowed: Networks, host: str) -> None:
    """Raise a refusal for loopback, private, link-local, shared, multicast, reserved and other special addresses."""
    if not is_reachable(address, allowed):
        raise refuse_address(host, [network_of(address)])


def parse_url(url: object) -> CheckedUrl:
    """Parse by a grammar so strict that no other parser can read the URL differently; the fragment is dropped."""
    if not isinstance(url, str):
        raise refuse("url_host", host=type(url).__name__)
    if len(url) > MAX_URL_LENGTH:
        raise refuse("url_too_long", length=len(url), most=MAX_URL_LENGTH)
    if not url.isprintable() or " " in url or "\\" in url:
        raise refuse("url_characters")
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        raise refuse("url_scheme", scheme=scheme)
    shape = _SHAPE.fullmatch(rest)
    if shape is None:
        raise refuse("url_host", host="")
    host, port = _host_and_port(shape["authority"])
    target = quote((shape["path"] or "/") + (shape["query"] or ""), safe=_UNQUOTED)
    return CheckedUrl(scheme, host, _DEFAULT_PORTS[scheme] if port is None else port, target)


def _host_and_port(authority: str) -> tuple[str, int | None]:
    if "@" in authority:
        raise refuse("url_userinfo")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise refuse("url_host", host=authority)
    return _host(parts["host"]), None if parts["port"] is None else _port(parts["port"])


def _port(text: str) -> int:
    if _PORT.fullmatch(text) is None or not 1 <= int(text) <= 65_535:
        raise refuse("url_port", port=text)
    return int(text)


def _host(text: str) -> str:
    """Return the host in canonical form: lower case, IP addresses in standard notation."""
    if text.startswith("["):
        address = read_address(text[1:-1])
        if not isinstance(address, IPv6Address) or address.scope_id is not None:
            raise refuse("url_host", host=text)
        return str(address.ipv4_mapped or address)
    name = text.removesuffix(".")
    if _NAME.fullmatch(name) is None or len(name) > _MAX_NAME_LENGTH:
        raise refuse("url_host", host=text)
    if not is_numeric(name):
        return text.lower()
    number = read_numeric(name)
    if number is None:
        raise refuse("url_host", host=text)
    return str(number)
