"""Which key a deployment uses: one beside its database, one that the operator names, or one that lives as long as the process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from .cipher import Key, Sealing
from .key_file import KeyFile

KEY_FILE: Final = "horae.key"


def sealing_for(database: str | None, key_file: str | None) -> Sealing:
    """`database` is the path of the file; None for what is kept in memory, where the key is kept there too. `key_file` is
    what the settings say of it."""
    if database is None:
        return Key.random()
    return KeyFile(key_path(database, key_file))


def key_path(database: str, key_file: str | None) -> Path:
    """The file that was named, else one beside the real database: a link to it leads to the same key."""
    named = (key_file or "").strip()
    return Path(named).expanduser().absolute() if named else Path(os.path.realpath(database)).parent / KEY_FILE
