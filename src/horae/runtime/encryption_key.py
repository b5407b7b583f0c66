"""Chooses the encryption key of a store's secrets: a file next to SQLite, memory, or the key file that all nodes share."""

from __future__ import annotations

from ..encryption import Cipher, make_cipher
from ..encryption.key_location import SharedKeyFile, make_server_cipher
from ..encryption.refusals import refuse
from ..errors import Refusal
from .stores import is_on_server, sqlite_path


def cipher_for_store(url: str, key_file: str | None) -> Cipher:
    """Return the cipher of a store's secrets; `key_file` is the setting of that name."""
    return make_server_cipher(key_file) if is_on_server(url) else make_cipher(sqlite_path(url), key_file)


def missing_key_refusal(url: str, key_file: str | None) -> Refusal | None:
    """Return a refusal if the key file of a store on a server is missing here: it was created on another machine."""
    key = cipher_for_store(url, key_file)
    is_missing = isinstance(key, SharedKeyFile) and not key.exists
    return refuse("key_file_missing", path=key.origin) if is_missing else None
