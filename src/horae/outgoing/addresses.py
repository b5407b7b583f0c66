"""Classifies IP addresses as public or special by its own table: `ipaddress.is_global` differs between Python versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from .refusals import refuse

Address: TypeAlias = IPv4Address | IPv6Address
Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]

_SPECIAL_4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a provider's customers
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host of a virtual machine in one large cloud, in the middle of public space
        "169.254.0.0/16",  # link-local, with the metadata services of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_UNICAST_6: Final = IPv6Network("2000::/3")
"""All public addresses are in here; loopback, link-local, unique local, multicast, mapped and compatible ones are not."""
_SPECIAL_6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, overlay identifiers
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: every one of them leads to some IPv4 address
        "3fff::/20",  # documentation
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""Prefix with which an IPv6-only network reaches IPv4: the last 32 bits are the real destination."""
_NUMERIC_LABEL: Final = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")


def is_reachable(address: Address, allowed: Networks) -> bool:
    """Whether the address is public, or in a network that an operator allows."""
    real = _destination(address)
    return _is_in(address, allowed) or _is_in(real, allowed) or _is_public(real)


def _destination(address: Address) -> Address:
    """Return the IPv4 address that is embedded in an IPv6 address (mapped, NAT64); otherwise the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not _is_in(address, _SPECIAL_4)
    return address in _UNICAST_6 and not _is_in(address, _SPECIAL_6)


def _is_in(address: Address, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def read_address(text: str) -> Address | None:
    """Parse an address as a resolver returns it; None for other text."""
    if ":" not in text and not text[-1:].isdecimal():
        # Fast path: an IPv4 address ends in a digit, and most names do not.
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_numeric(host: str) -> bool:
    """Whether a resolver may read the host as an IPv4 address instead of looking it up: its last label is a number."""
    return _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]) is not None


def read_numeric(host: str) -> IPv4Address | None:
    """Parse `127.0.0.1`, `2130706433`, `0x7f.1`, `0177.0.0.1`: one to four numbers, the last fills the remaining bytes."""
    numbers = [_parse_number(part) for part in host.split(".")]
    known = [number for number in numbers if number is not None]
    if len(known) != len(numbers) or len(known) > 4:
        return None
    *leading, last = known
    if any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
        return None
    return IPv4Address(sum(number << 24 - 8 * place for place, number in enumerate(leading)) + last)


def _parse_number(text: str) -> int | None:
    base = 16 if text[:2].lower() == "0x" else 8 if text.startswith("0") else 10
    try:
        # Long digit strings are out of range anyway, and slow to parse.
        return int(text, base) if _NUMERIC_LABEL.fullmatch(text) and len(text) <= 32 else None
    except ValueError:
        return None


def network_of(address: Address) -> str:
    """Return the smallest network that an operator would have to allow: this address, or all of IPv4 loopback."""
    real = _destination(address)
    if isinstance(real, IPv4Address) and real.is_loopback:
        return "127.0.0.0/8"
    without_scope = str(real).partition("%")[0]
    return f"{without_scope}/{real.max_prefixlen}"


def read_networks(texts: Iterable[object]) -> Networks:
    """Parse the networks that an operator allows; raises a refusal for an invalid one."""
    return tuple(_parse_network(text) for text in texts)


def _parse_network(text: object) -> IPv4Network | IPv6Network:
    try:
        if isinstance(text, str):
            return ip_network(text.strip())
    except ValueError:
        pass
    raise refuse("bad_network", value=text)
