"""Which key a deployment uses: one beside its database, one that the operator names, or one that lives as long as the process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from .cipher import Key, Sealing
from .key_file import KeyFile

KEY_FILE: Final = "horae.key"
KEY_FILE_VARIABLE: Final = "HORAE_KEY_FILE"


def sealing_for(database: str | None, environment: Mapping[str, str]) -> Sealing:
    """`database` is the path of the file; None for what is kept in memory, where the key is kept there too."""
    if database is None:
        return Key.random()
    return KeyFile(key_path(database, environment))


def key_path(database: str, environment: Mapping[str, str]) -> Path:
    """`HORAE_KEY_FILE`, else beside the real file: a link to a database leads to the same key."""
    named = environment.get(KEY_FILE_VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else Path(os.path.realpath(database)).parent / KEY_FILE
