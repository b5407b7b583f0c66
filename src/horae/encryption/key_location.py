"""Choice of the encryption key: the configured key file, one next to the SQLite file, or a random key in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NoReturn, final

from .cipher import Cipher, Key
from .key_file import KeyFile
from .refusals import refuse

KEY_FILE_NAME: Final = "horae.key"


def make_cipher(database: str | None, key_file: str | None) -> Cipher:
    """Return the cipher of a SQLite or in-memory store. `database` is the path of the file; None (in memory) gets a random
    key. `key_file` is the setting."""
    if database is None:
        return Key.random()
    return KeyFile(key_path(database, key_file))


def make_server_cipher(key_file: str | None) -> Cipher:
    """Return the cipher of a store on a database server. All nodes need the same key, so the file must be configured."""
    path = configured_path(key_file)
    return UnconfiguredKey() if path is None else SharedKeyFile(path)


@final
class UnconfiguredKey:
    """Stands for a key that is not configured: every use raises a refusal that says so."""

    origin: Final = "nowhere"

    def seal(self, value: bytes, associated_data: bytes) -> NoReturn:  # noqa: ARG002 - it seals nothing
        raise refuse("key_file_not_named")

    def open(self, sealed: bytes, associated_data: bytes) -> NoReturn:  # noqa: ARG002
        raise refuse("key_file_not_named")

    def opens_with_current_key(self, sealed: bytes, associated_data: bytes) -> bool:  # noqa: ARG002
        return False


@final
class SharedKeyFile(KeyFile):
    """Key file that is copied to every node: a missing file is refused, as it was not copied to this machine."""

    def open(self, sealed: bytes, associated_data: bytes) -> bytes | None:
        value = super().open(sealed, associated_data)
        if value is None and not self.exists:
            raise refuse("key_file_missing", path=self.path)
        return value


def configured_path(key_file: str | None) -> Path | None:
    text = (key_file or "").strip()
    return Path(text).expanduser().absolute() if text else None


def key_path(database: str, key_file: str | None) -> Path:
    """Return the configured path, else `horae.key` next to the database file, with symbolic links resolved."""
    return configured_path(key_file) or Path(os.path.realpath(database)).parent / KEY_FILE_NAME
