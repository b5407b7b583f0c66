"""File with a deployment's first token, readable by its user alone (mode 0600) and replaced atomically."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from ..encryption.key_location import configured_path
from .process_settings import data_file
from .stores import is_on_server, sqlite_path

SUFFIX: Final = ".token"
_OTHER_USERS: Final = 0o077
_MAX_LENGTH: Final = 1_000


def is_temporary(url: str) -> bool:
    """Whether the store lives in this process only, so that no later process can use its tokens."""
    return sqlite_path(url) is None and not is_on_server(url)


def token_path(url: str, key_file: str | None) -> Path:
    """Return the path: next to a SQLite file; for a server, next to the configured key, else in the user's data folder.

    A store in memory has one file per process.
    """
    database = sqlite_path(url)
    if database is not None:
        real = Path(os.path.realpath(database))
        return real.with_name(real.name + SUFFIX)
    if is_on_server(url):
        key = configured_path(key_file)
        folder = data_file().parent if key is None else key.parent
        return folder / f"{sha256(url.encode()).hexdigest()[:16]}{SUFFIX}"
    return data_file().parent / f"memory-{os.getpid()}{SUFFIX}"


def write_token(path: Path, text: str) -> None:
    """Write the token atomically (temporary file, then rename), readable by its user alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_private_token(path: Path) -> str | None:
    """Return the token in this file; None where it is missing, or other users could read it."""
    try:
        with path.open("r", encoding="ascii") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHER_USERS:
                return None
            return file.read(_MAX_LENGTH).strip() or None
    except (OSError, UnicodeDecodeError):
        return None
