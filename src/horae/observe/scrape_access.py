"""Who may look at the numbers: whoever is on this machine, whoever brings the right token, or everybody, as the operator says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from ipaddress import IPv6Address, ip_address
from typing import Final, Literal
from urllib.parse import urlsplit

from ..model.accounts.principal import Principal, Scope
from ..model.refusals import refuse as refuse_choice
from .refusals import refuse

Policy = Literal["local", "token", "open", "off"]
POLICIES: Final[tuple[Policy, ...]] = ("local", "token", "open", "off")
_PASSED_ON: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_SCHEME: Final = "bearer "

Authenticate = Callable[[str], Awaitable[Principal]]


def read_policy(said: str) -> Policy:
    word = said.strip().lower()
    if word not in POLICIES:
        raise refuse_choice("bad_choice", name="metrics", value=word, allowed=", ".join(POLICIES))
    return word


async def admit(policy: Policy, peer: str, headers: Mapping[str, str], authenticate: Authenticate) -> None:
    """Refuses whoever may not; `headers` have names in small letters."""
    if policy == "off":
        raise refuse("metrics_off")
    if policy == "open" or (policy == "local" and is_local(peer, headers)):
        return
    said = headers.get("authorization", "")
    if not said.lower().startswith(_SCHEME):
        raise refuse("metrics_need_token")
    (await authenticate(said[len(_SCHEME) :].strip())).must(Scope.ADMIN)


def is_local(peer: str, headers: Mapping[str, str]) -> bool:
    """From this machine, for this machine: not what a proxy passed on, nor what a page in a browser asks by a name that
    was made to lead here."""
    if any(name in headers for name in _PASSED_ON) or "origin" in headers:
        return False
    return _is_loopback(peer) and _is_loopback(_host(headers.get("host", "")))


def knows_key(headers: Mapping[str, str], key: str) -> bool:
    """Two processes of one `horae up` know each other by a key that nobody else has."""
    return bool(key) and compare_digest(headers.get("authorization", "").encode(), f"Bearer {key}".encode())


def _host(said: str) -> str:
    try:
        return urlsplit(f"//{said}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return found.is_loopback or (mapped is not None and mapped.is_loopback)
