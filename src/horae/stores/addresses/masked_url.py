"""Mask credentials in store URLs before they are logged or displayed."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

_SECRET_PARAMETER: Final = re.compile(r"(?<=[?&])((?:ssl|sentinel-)?password|direct)=[^&]*", re.IGNORECASE)
"""Query parameters with a secret: passwords, and `direct`, a URL with a password of its own."""


def mask_url(url: str) -> str:
    """Replace the user and password before the `@`, and secret query parameters, by `***`."""
    url = _SECRET_PARAMETER.sub(r"\1=***", url)
    credentials, separator, after = url.rpartition("@")
    if not separator:
        return url
    scheme, separator, _ = credentials.partition("://")
    return f"{scheme}://***@{after}" if separator else f"***@{after}"


def has_secret(url: str) -> bool:
    """Return whether the URL contains a password; True for a URL that cannot be parsed."""
    try:
        return urlsplit(url).password is not None or _SECRET_PARAMETER.search(url) is not None
    except ValueError:
        return True


def without_password(url: str) -> str:
    """The same address without its passwords; an address that cannot be read is masked."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return mask_url(url)
    user, found, place = parts.netloc.rpartition("@")
    login = user.partition(":")[0]
    netloc = f"{login}{found}{place}" if login else place
    kept = []
    for pair in parts.query.split("&") if parts.query else ():
        name, _, _ = pair.partition("=")
        if name.lower() == "direct":
            kept += [f"{name}={quote(without_password(value), safe='')}" for _, value in parse_qsl(pair)]
        elif name.lower() not in ("password", "sslpassword", "sentinel-password"):
            kept.append(pair)
    return urlunsplit((parts.scheme, netloc, parts.path, "&".join(kept), parts.fragment))
