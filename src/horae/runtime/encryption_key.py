"""Which key seals the secrets of a store: beside its file, in memory with it, or the one that all its nodes share."""

from __future__ import annotations

from ..encryption import Sealing, sealing_for
from ..encryption.key_location import SharedKeyFile, sealing_on_server
from ..encryption.refusals import refuse
from ..errors import Refusal
from .stores import sqlite_path
from .url_schemes import is_on_server


def sealing_of(url: str, key_file: str | None) -> Sealing:
    """`key_file` is what the settings say of it."""
    return sealing_on_server(key_file) if is_on_server(url) else sealing_for(sqlite_path(url), key_file)


def key_is_elsewhere(url: str, key_file: str | None) -> Refusal | None:
    """Of a store on a server: the key that is named is not on this machine. Who has secrets already made it elsewhere."""
    key = sealing_of(url, key_file)
    is_missing = isinstance(key, SharedKeyFile) and not key.is_there
    return refuse("key_file_missing", path=key.origin) if is_missing else None
