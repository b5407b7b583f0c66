"""Addresses as they may be shown."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

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
