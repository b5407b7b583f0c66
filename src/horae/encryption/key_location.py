"""Which key a deployment uses: beside its database, where the operator says, or one that lives as long as the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NoReturn, final

from .cipher import Key, Sealing
from .key_file import KeyFile
from .refusals import refuse

KEY_FILE: Final = "horae.key"


def sealing_for(database: str | None, key_file: str | None) -> Sealing:
    """`database` is the path of the file; None for what is kept in memory, where the key is kept there too. `key_file` is
    what the settings say of it."""
    if database is None:
        return Key.random()
    return KeyFile(key_path(database, key_file))


def sealing_on_server(key_file: str | None) -> Sealing:
    """No file of the store lies beside one on a server, and all of its nodes need the same key: it has to be named."""
    path = named_path(key_file)
    return Unnamed() if path is None else SharedKeyFile(path)


@final
class Unnamed:
    """In the place of a key that nobody has named: whoever needs it is told so."""

    origin: Final = "nowhere"

    def seal(self, value: bytes, about: bytes) -> NoReturn:  # noqa: ARG002 - it seals nothing
        raise refuse("key_file_not_named")

    def open(self, sealed: bytes, about: bytes) -> NoReturn:  # noqa: ARG002
        raise refuse("key_file_not_named")

    def will_open(self, sealed: bytes, about: bytes) -> bool:  # noqa: ARG002
        return False


@final
class SharedKeyFile(KeyFile):
    """A copy of the one key that all nodes have: where there is none, it was not brought to this machine."""

    def open(self, sealed: bytes, about: bytes) -> bytes | None:
        value = super().open(sealed, about)
        if value is None and not self.is_there:
            raise refuse("key_file_missing", path=self.path)
        return value


def named_path(key_file: str | None) -> Path | None:
    named = (key_file or "").strip()
    return Path(named).expanduser().absolute() if named else None


def key_path(database: str, key_file: str | None) -> Path:
    """The file that was named, else one beside the real database: a link to it leads to the same key."""
    return named_path(key_file) or Path(os.path.realpath(database)).parent / KEY_FILE
