"""Addresses as they may be shown."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

_SECRET: Final = re.compile(r"(?<=[?&])((?:ssl)?password|direct)=[^&]*", re.IGNORECASE)
"""What stands behind a `?`: passwords, and addresses that have one of their own."""


def masked(url: str) -> str:
    """As it may be shown: without the name and password that may stand before an `@`, or behind a `?`."""
    url = _SECRET.sub(r"\1=***", url)
    before, found, after = url.rpartition("@")
    if not found:
        return url
    scheme, found, _ = before.partition("://")
    return f"{scheme}://***@{after}" if found else f"***@{after}"


def has_secret(url: str) -> bool:
    """Whether the address would give away a password where it is shown."""
    try:
        return urlsplit(url).password is not None or _SECRET.search(url) is not None
    except ValueError:
        return True


def without_password(url: str) -> str:
    """The same address without its passwords; an address that cannot be read is masked."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return masked(url)
    user, found, place = parts.netloc.rpartition("@")
    login = user.partition(":")[0]
    netloc = f"{login}{found}{place}" if login else place
    kept = []
    for pair in parts.query.split("&") if parts.query else ():
        name, _, _ = pair.partition("=")
        if name.lower() == "direct":
            kept += [f"{name}={quote(without_password(value), safe='')}" for _, value in parse_qsl(pair)]
        elif name.lower() not in ("password", "sslpassword"):
            kept.append(pair)
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(kept), parts.fragment))
