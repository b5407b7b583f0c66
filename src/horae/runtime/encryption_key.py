"""Chooses the encryption key of a store's secrets: a file next to SQLite, memory, or the key file that all nodes share."""

from __future__ import annotations

from ..encryption import Sealing, sealing_for
from ..encryption.key_location import SharedKeyFile, sealing_on_server
from ..encryption.refusals import refuse
from ..errors import Refusal
from .stores import sqlite_path
from .url_schemes import is_on_server


def sealing_of(url: str, key_file: str | None) -> Sealing:
    """Return the sealing of a store's secrets; `key_file` is the setting of that name."""
    return sealing_on_server(key_file) if is_on_server(url) else sealing_for(sqlite_path(url), key_file)


def key_is_elsewhere(url: str, key_file: str | None) -> Refusal | None:
    """Return a refusal if the key file of a store on a server is missing here: it was created on another machine."""
    key = sealing_of(url, key_file)
    is_missing = isinstance(key, SharedKeyFile) and not key.exists
    return refuse("key_file_missing", path=key.origin) if is_missing else None
