"""Access policy of metrics: local requests, requests with an admin's token, all requests, or none."""

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
_PROXY_HEADERS: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_SCHEME: Final = "bearer "

Authenticate = Callable[[str], Awaitable[Principal]]


def read_policy(value: str) -> Policy:
    """Parse the setting; raises a refusal for an unknown policy."""
    policy = value.strip().lower()
    if policy not in POLICIES:
        raise refuse_choice("bad_choice", name="metrics", value=policy, allowed=", ".join(POLICIES))
    return policy


async def check_access(policy: Policy, peer: str, headers: Mapping[str, str], authenticate: Authenticate) -> None:
    """Raise a refusal unless the policy admits the request; header names are in lower case."""
    if policy == "off":
        raise refuse("metrics_off")
    if policy == "open" or (policy == "local" and is_local(peer, headers)):
        return
    authorization = headers.get("authorization", "")
    if not authorization.lower().startswith(_SCHEME):
        raise refuse("metrics_need_token")
    (await authenticate(authorization[len(_SCHEME) :].strip())).require_scope(Scope.ADMIN)


def is_local(peer: str, headers: Mapping[str, str]) -> bool:
    """Whether the request comes from this machine and names it as its host.

    Excludes requests that a proxy forwarded, and those of a browser page (DNS rebinding).
    """
    if any(name in headers for name in _PROXY_HEADERS) or "origin" in headers:
        return False
    return _is_loopback(peer) and _is_loopback(_host_name(headers.get("host", "")))


def has_key(headers: Mapping[str, str], key: str) -> bool:
    """Whether the request has the key that only the processes of one `horae up` share."""
    return bool(key) and compare_digest(headers.get("authorization", "").encode(), f"Bearer {key}".encode())


def _host_name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return parsed.is_loopback or (mapped is not None and mapped.is_loopback)
