"""Where the first token of a deployment is kept for its own user: a file that nobody else may read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from ..encryption.key_location import named_path
from .process_settings import data_file
from .stores import sqlite_path
from .url_schemes import is_on_server

SUFFIX: Final = ".token"
_OTHERS: Final = 0o077
_LONGEST: Final = 1_000


def is_temporary(url: str) -> bool:
    """Whether the store lives in this process only, so that no later process can use its tokens."""
    return sqlite_path(url) is None and not is_on_server(url)


def token_path(url: str, key_file: str | None) -> Path:
    """Beside the database; of a store on a server, beside the key that was named, else in the user's own folder.

    What is in memory has one for each process: it goes with it.
    """
    database = sqlite_path(url)
    if database is not None:
        real = Path(os.path.realpath(database))
        return real.with_name(real.name + SUFFIX)
    if is_on_server(url):
        key = named_path(key_file)
        folder = data_file().parent if key is None else key.parent
        return folder / f"{sha256(url.encode()).hexdigest()[:16]}{SUFFIX}"
    return data_file().parent / f"memory-{os.getpid()}{SUFFIX}"


def keep_token(path: Path, text: str) -> None:
    """Written beside first, then put in its place: nobody ever reads half of it, or more than its owner may."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        fresh.unlink()
    line = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(line, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def read_private(path: Path) -> str | None:
    """The token in this file; None where there is no such file, or others could read it too."""
    try:
        with path.open("r", encoding="ascii") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS:
                return None
            return file.read(_LONGEST).strip() or None
    except (OSError, UnicodeDecodeError):
        return None
