"""What may be called at all. Pure: checked when a task is made, again before each request, and again at each connection."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple
from urllib.parse import quote

from .addresses import Address, Networks, is_numeric, is_reachable, network_of, read_address, read_numeric
from .refusals import refuse, refuse_address

LONGEST_URL: Final = 2_048
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SHAPE: Final = re.compile(r"//(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?")
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LONGEST_NAME: Final = 253
_PORT: Final = re.compile(r"[0-9]{1,5}")
_AS_IT_IS: Final = "%/:@!$&'()*+,;=~?[]"
_LOOPBACKS: Final = (IPv4Address("127.0.0.1"), IPv6Address("::1"))
_LOOPBACK_NETWORKS: Final = ("127.0.0.0/8", "::1/128")


class CheckedUrl(NamedTuple):
    """A URL in its parts, each in its plainest form. Only `check_url` makes one of somebody's text."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def place(self) -> str:
        """Host and port as people read them. Paths and queries may hold what is nobody's business."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"


def check_url(url: object, allowed: Networks = ()) -> CheckedUrl:
    """Refuses what may never be called, however it is spelled. A name is looked up only when it is called."""
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
    """Refuses loopback, private, link-local, shared, multicast, reserved and other special addresses."""
    if not is_reachable(address, allowed):
        raise refuse_address(host, [network_of(address)])


def parse_url(url: object) -> CheckedUrl:
    """The parts, by a grammar that leaves nothing for another parser to read differently; the fragment is left out."""
    if not isinstance(url, str):
        raise refuse("url_host", host=type(url).__name__)
    if len(url) > LONGEST_URL:
        raise refuse("url_too_long", length=len(url), most=LONGEST_URL)
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
    target = quote((shape["path"] or "/") + (shape["query"] or ""), safe=_AS_IT_IS)
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
    """Lower case, and addresses as everybody writes them, so that whoever reads it next reads the same."""
    if text.startswith("["):
        address = read_address(text[1:-1])
        if not isinstance(address, IPv6Address) or address.scope_id is not None:
            raise refuse("url_host", host=text)
        return str(address.ipv4_mapped or address)
    name = text.removesuffix(".")
    if _NAME.fullmatch(name) is None or len(name) > _LONGEST_NAME:
        raise refuse("url_host", host=text)
    if not is_numeric(name):
        return text.lower()
    number = read_numeric(name)
    if number is None:
        raise refuse("url_host", host=text)
    return str(number)
